"""Programs of a benchmark that compute nothing; workers import this file by its name."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any


class Steady:
    """Says what it takes, and writes its name down at every run."""

    def __init__(
        self, log: str = os.devnull, name: str = "", seconds: float = 1.0, chunk: int = 1
    ) -> None:
        self.log, self.name, self.seconds, self.chunk = Path(log), name, seconds, chunk
        print("no answer")

    def run(self) -> float:
        with self.log.open("a") as log:
            print(self.name or os.getpid(), file=log)
        print("no answer either", flush=True)
        return self.seconds

    def facts(self) -> dict[str, Any]:
        return {"tokens": 100, "environment": dict(os.environ)}


class Failing:
    """Does so many runs, then what `how` says."""

    chunk = 1

    def __init__(self, how: str, after: int = 0) -> None:
        self.how, self.left = how, after

    def run(self) -> float:
        if self.left == 0:
            getattr(self, self.how)()
        self.left -= 1
        return 1.0

    def raises(self) -> None:
        raise ValueError("no such\nthing")

    def killed(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def exits(self) -> None:
        os._exit(3)

    def complains(self) -> None:
        print("first\nout of  memory\n", file=sys.stderr, flush=True)
        os._exit(1)

    def hangs(self) -> None:
        time.sleep(600)
