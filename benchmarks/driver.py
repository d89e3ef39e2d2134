"""Workers from the outside: started, asked in turn, and never left behind."""

import contextlib
import dataclasses as dc
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import others
from benchmarks.progress import Progress

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_S = 3600.0
"""For one answer; what takes longer hangs."""


@dc.dataclass(frozen=True)
class Program:
    """What is measured: a class, its fields, and how its process is started."""

    name: str
    target: str
    settings: Mapping[str, Any]
    title: str = ""
    precision: str = "fp32"
    environment: Mapping[str, str] = dc.field(default_factory=dict)
    """What is set for this one, beside what all have."""
    python: str = sys.executable
    peer: bool = False
    """Whether it trains as many parameters as the plain network has."""


@dc.dataclass
class Measured:
    """One program's raw figures; `error` is why there are no more of them."""

    name: str
    title: str
    precision: str
    environment: dict[str, str]
    peer: bool = False
    error: str | None = None
    prepare_s: float | None = None
    first_s: float | None = None
    """The first run: it compiles, then does `chunk` steps."""
    chunk: int = 1
    bytes_before: int | None = None
    """Before the first run."""
    seconds: list[list[float]] = dc.field(default_factory=list)
    """Seconds a step: rounds, runs."""
    others: list[float | None] = dc.field(default_factory=list)
    """In each round, the share of all cores that was at somebody else's work."""
    peak_bytes: int | None = None
    facts: dict[str, Any] = dc.field(default_factory=dict)


class WorkerError(Exception):
    """A worker that failed or is gone; the text is one line."""


class Worker:
    """The process of one program."""

    def __init__(self, program: Program) -> None:
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115, `close` does
        paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        words = [program.python, "-m", "benchmarks.worker", program.target]
        try:
            self.process = subprocess.Popen(
                [*words, json.dumps(dict(program.settings))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                cwd=ROOT,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                    **program.environment,
                },
                # Ctrl-C is for the driver, which ends them all.
                start_new_session=True,
            )
        except OSError as error:
            self._complaints.close()
            raise WorkerError(f"cannot start {program.python}: {error.strerror}") from error

    def ask(self, do: str, **words: Any) -> dict[str, Any]:
        """Let it do something and return its answer. Raises WorkerError."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps({"do": do, **words}).encode() + b"\n")
            self.process.stdin.flush()
            answer = self._line()
        except BrokenPipeError:
            answer = b""
        if not answer.endswith(b"\n"):
            raise WorkerError(self._why())
        found = json.loads(answer)
        if "error" in found:
            raise WorkerError(found["error"])
        return found

    def _line(self) -> bytes:
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as ready:
            ready.register(self.process.stdout, selectors.EVENT_READ)
            if not ready.select(PATIENCE_S):
                raise WorkerError(f"no answer for {PATIENCE_S:.0f} s")
        return self.process.stdout.readline()

    def _why(self) -> str:
        """Why a worker is gone: the signal, or the last line of its complaints."""
        status = self.process.wait()
        if status < 0:
            return f"ended by {signal.Signals(-status).name}"
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").split("\n")
        said = [" ".join(line.split()) for line in lines if line.strip()]
        return said[-1][:500] if said else f"ended with exit status {status}"

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()

    def close(self) -> None:
        """Wait for the end of a process that was ended, and let its files go."""
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            # What was still to be written to it has no reader.
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        self._complaints.close()


@contextlib.contextmanager
def ended(workers: Sequence[Worker]) -> Iterator[None]:
    """When this block is left, however, none of them lives."""
    try:
        yield
    finally:
        # All are told before any is waited for. A driver killed at once ends them, too: they
        # read from it.
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.close()


def alternate(
    programs: Sequence[Program], *, rounds: int, steps: int, progress: Progress, label: str
) -> list[Measured]:
    """Let all compile, one after the other, then let each in turn do `steps` runs, `rounds` times.

    A program that fails has its error and the rounds before it; the others go on.
    """
    rows = [
        Measured(p.name, p.title or p.name, p.precision, dict(p.environment), p.peer)
        for p in programs
    ]
    workers: dict[int, Worker] = {}
    started: list[Worker] = []
    clock = _Clock(len(programs), rounds)
    with ended(started):
        for place, (program, row) in enumerate(zip(programs, rows, strict=True)):
            progress.show(f"{label}: {program.name} starts", clock.left(0, len(programs) - place))
            with clock.turn("start"), _told(row):
                workers[place] = Worker(program)
                started.append(workers[place])
                with _told(row, workers[place]):
                    _begin(row, workers[place])
        for number in range(rounds):
            # Nobody is always the first one, or always behind the same other.
            for turn in range(len(programs)):
                place = (turn + number) % len(programs)
                row = rows[place]
                done = number * len(programs) + turn
                where = f"{label}: round {number + 1} of {rounds}, {row.name}"
                progress.show(where, clock.left(done, 0))
                if row.error is None:
                    with clock.turn("round"), _told(row, workers[place]):
                        _turn(row, workers[place], steps)
        for place, row in enumerate(rows):
            if row.error is None:
                with _told(row, workers[place]):
                    answer = workers[place].ask("facts")
                    row.facts, row.peak_bytes = answer["facts"], answer["peak_bytes"]
    progress.clear()
    return rows


def _begin(row: Measured, worker: Worker) -> None:
    row.prepare_s = worker.ask("prepare")["seconds"]
    first = worker.ask("first")
    row.first_s, row.chunk = first["seconds"], first["chunk"]
    row.bytes_before, row.peak_bytes = first["bytes_before"], first["peak_bytes"]


def _turn(row: Measured, worker: Worker, steps: int) -> None:
    busy, begin = others.busy_s(), time.monotonic()
    answer = worker.ask("steps", count=steps)
    wall = time.monotonic() - begin
    row.seconds.append(answer["seconds"])
    row.others.append(others.share(busy, others.busy_s(), answer["cpu_s"], wall))


@contextlib.contextmanager
def _told(row: Measured, worker: Worker | None = None) -> Iterator[None]:
    """A worker's failure becomes a word of its row, and leaves its memory to the others."""
    try:
        yield
    except WorkerError as error:
        row.error = str(error)
        if worker is not None:
            worker.kill()


class _Clock:
    """What turns took so far, and so what is left."""

    def __init__(self, programs: int, rounds: int) -> None:
        self.turns = programs * rounds
        self.taken: dict[str, list[float]] = {"start": [], "round": []}

    @contextlib.contextmanager
    def turn(self, kind: str) -> Iterator[None]:
        begin = time.monotonic()
        yield
        self.taken[kind].append(time.monotonic() - begin)

    def left(self, turns_done: int, starts_left: int) -> float | None:
        """Seconds, or None while nothing is known of one of the kinds that are left."""
        total = 0.0
        for kind, count in (("start", starts_left), ("round", self.turns - turns_done)):
            taken = self.taken[kind]
            if count and not taken:
                return None
            total += count * sum(taken) / len(taken) if count else 0.0
        return total
