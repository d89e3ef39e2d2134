"""One program in a process of its own: a line of JSON in, a line of JSON out.

    python -m benchmarks.worker benchmarks.programs.article:Training '{"shape": {}}'

A program is a class; its fields come as JSON. `run()` does `chunk` steps and waits for their end;
where it returns seconds, these count, and not what it took. `facts()` says what is known of it.
The process lives until standard input ends.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_STATUS = Path("/proc/self/status")


def memory(name: str) -> int | None:
    """Bytes that Linux tells of this process: `VmRSS` now, `VmHWM` at most."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    return next((int(li.split()[1]) * 1024 for li in lines if li.startswith(f"{name}:")), None)


def peak() -> int | None:
    """The most bytes this process ever held."""
    # The kernel's `ru_maxrss` outlives exec: it may be that of the process that started this one.
    told = memory("VmHWM")
    if told is not None:
        return told
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def one_line(error: BaseException) -> str:
    """An error as one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500]


def _timed(work: Callable[[], float | None]) -> float:
    begin = time.perf_counter()
    told = work()
    return time.perf_counter() - begin if told is None else told


class _Process:
    """What a worker is asked for, by name."""

    def __init__(self, target: str, settings: dict[str, Any]) -> None:
        self.target, self.settings = target, settings
        self.program: Any = None

    def prepare(self) -> dict[str, Any]:
        """Import and build."""

        def build() -> None:
            module, _, name = self.target.partition(":")
            self.program = getattr(importlib.import_module(module), name)(**self.settings)

        return {"seconds": _timed(build)}

    def first(self) -> dict[str, Any]:
        """The first run, which compiles."""
        before = memory("VmRSS")
        begin = time.perf_counter()
        self.program.run()
        return {
            "seconds": time.perf_counter() - begin,
            "chunk": self.program.chunk,
            "bytes_before": before,
            "peak_bytes": peak(),
        }

    def steps(self, count: int) -> dict[str, Any]:
        """Seconds a step of each of so many runs, after one that wakes it and does not count.

        Not after one, where a program says of itself `wakes = False`.
        """
        before = time.process_time()
        if getattr(self.program, "wakes", True):
            self.program.run()
        times = [_timed(self.program.run) for _ in range(count)]
        return {
            "seconds": [seconds / self.program.chunk for seconds in times],
            "cpu_s": time.process_time() - before,
        }

    def facts(self) -> dict[str, Any]:
        """What it says of itself, and its memory."""
        return {"facts": self.program.facts(), "peak_bytes": peak()}


def main(target: str, settings: str) -> int:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # What a library prints is no answer.
    process = _Process(target, json.loads(settings))
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = getattr(process, asked.pop("do"))(**asked)
        except Exception as error:
            answer = {"error": one_line(error)}
        print(json.dumps(answer), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    # Nobody is left to be told of a broken pipe, and nothing to be saved.
    status = main(*sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)
