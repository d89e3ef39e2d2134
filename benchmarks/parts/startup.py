"""How long one waits: for the import, for `--help`, for the first step."""

import dataclasses as dc
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from benchmarks import words
from benchmarks.bench import Bench
from benchmarks.driver import ROOT, Program, Worker, WorkerError, ended

_CACHED = {
    "JAX_ENABLE_COMPILATION_CACHE": "true",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
}

UNCACHED = "to the end of the first step"


def measure(bench: Bench) -> dict[str, Any]:
    """Seconds from the start of a process, in alternating rounds."""
    rounds = bench.rounds or (2 if bench.quick else 3)
    program = bench.ours("first-step", "ours:Training", bench.shape())
    with tempfile.TemporaryDirectory() as folder:
        own = {**program.environment, **_CACHED, "JAX_COMPILATION_CACHE_DIR": folder}
        cached = dc.replace(program, environment=own)
        waits: dict[str, Callable[[], float]] = {
            "Python alone": lambda: _process("-c", "pass"),
            "import velocity_ledger": lambda: _process("-c", "import velocity_ledger"),
            "--help": lambda: _process("-m", "velocity_ledger", "--help"),
            "compare --help": lambda: _process("-m", "velocity_ledger", "compare", "--help"),
            UNCACHED: lambda: _first_step(program),
            "the same, compiled before": lambda: _first_step(cached),
        }
        times: dict[str, list[float]] = {name: [] for name in waits}
        failed: dict[str, str] = {}
        # Files are read and caches filled once before anything counts; of the two whose first
        # step is awaited, one does that for both.
        for number in range(-1, rounds):
            for name, wait in waits.items():
                bench.progress.show(f"start-up: round {number + 1} of {rounds}, {name}")
                if name in failed or (number < 0 and name == UNCACHED):
                    continue
                try:
                    seconds = wait()
                except WorkerError as error:
                    failed[name] = str(error)
                    continue
                if number >= 0:
                    times[name].append(seconds)
        bench.progress.clear()
    return {"rows": [{"name": n, "seconds": t, "error": failed.get(n)} for n, t in times.items()]}


def _process(*arguments: str) -> float:
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT / "src",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise WorkerError((done.stderr.strip().splitlines() or ["failed in silence"])[-1])
    return time.perf_counter() - begin


def _first_step(program: Program) -> float:
    begin = time.perf_counter()
    worker = Worker(program)
    with ended([worker]):
        worker.ask("prepare")
        worker.ask("first")
        return time.perf_counter() - begin


def told(found: dict[str, Any]) -> str:
    """One table."""
    lines = [
        [
            row["name"],
            *(words.seconds(of(row["seconds"])) for of in (statistics.median, min, max)),
        ]
        for row in found["rows"]
        if row["error"] is None
    ]
    failed = words.failures(found["rows"], lambda row: row["name"])
    return "\n".join([words.table(("start-up", "seconds", "fastest", "slowest"), lines), *failed])
