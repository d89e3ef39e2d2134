"""Workers: asked in turn, their failures told as rows, and none left behind."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from benchmarks import driver, settings
from benchmarks.driver import Program, Worker, alternate, ended
from benchmarks.progress import Progress

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE))


def steady(name, **own):
    return Program(name, "fake_programs:Steady", {"name": name, **own})


def failing(how, after=0):
    return Program(how, "fake_programs:Failing", {"how": how, "after": after})


def measured(*programs, rounds=2, steps=1):
    return alternate(programs, rounds=rounds, steps=steps, progress=Progress(), label="x")


def test_all_start_then_each_works_in_turn_and_nobody_is_always_first(tmp_path):
    log = tmp_path / "log"
    measured(steady("a", log=str(log)), steady("b", log=str(log)), rounds=3, steps=2)
    # A run that compiles; then one that wakes and two that count.
    a, b = ["a"] * 3, ["b"] * 3
    assert log.read_text().split() == ["a", "b", *a, *b, *b, *a, *a, *b]


def test_a_row_holds_seconds_a_step_of_every_run():
    row, other = measured(steady("a", seconds=6.0, chunk=4), steady("b", seconds=2.0), steps=3)
    assert row.seconds == [[1.5] * 3] * 2 and other.seconds == [[2.0] * 3] * 2
    assert len(row.others) == 2 and all(o is None or 0 <= o <= 1 for o in row.others)
    assert row.chunk == 4 and row.error is None and row.facts["tokens"] == 100
    assert row.prepare_s is not None and row.first_s is not None and row.first_s < 5


def test_what_is_not_said_is_timed():
    class Napping:
        chunk = 1

        def run(self):
            time.sleep(0.05)

    from benchmarks.worker import _Process

    process = _Process("", {})
    process.program = Napping()
    assert all(0.05 <= s < 1 for s in process.steps(2)["seconds"])
    assert 0.05 <= process.first()["seconds"] < 1


def test_a_program_that_needs_no_waking_works_only_for_what_counts():
    from benchmarks.worker import _Process

    class Long:
        chunk, done, wakes = 1, 0, True

        def run(self):
            self.done += 1

    process = _Process("", {})
    process.program = waked = Long()
    assert len(process.steps(2)["seconds"]) == 2 and waked.done == 3
    process.program = alone = Long()
    alone.wakes = False
    assert len(process.steps(2)["seconds"]) == 2 and alone.done == 2


def test_memory_is_the_worker_s_own():
    big = bytearray(200 * 2**20)
    big[:: 2**12] = b"x" * len(big[:: 2**12])
    (row,) = measured(steady("a"))
    assert row.peak_bytes is not None and 2**20 < row.peak_bytes < 100 * 2**20
    assert row.bytes_before is None or row.bytes_before <= row.peak_bytes


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("raises", "ValueError: no such thing"),
        ("killed", "ended by SIGKILL"),
        ("exits", "ended with exit status 3"),
        ("complains", "out of memory"),
    ],
)
def test_a_failure_is_a_row_and_the_others_go_on(how, told):
    early, late, well = measured(failing(how), failing(how, after=4), steady("a"), rounds=3)
    assert early.error == late.error == told
    assert early.seconds == [] and late.seconds == [[1.0]]
    assert well.error is None and len(well.seconds) == 3


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (Program("p", "fake_programs:Nobody", {}), "AttributeError: .*Nobody.*"),
        (Program("p", "no_such_module:X", {}), "ModuleNotFoundError: .*no_such_module.*"),
        (
            Program("p", "fake_programs:Steady", {}, python="/no/python"),
            "cannot start /no/python.*",
        ),
    ],
    ids=["class", "module", "interpreter"],
)
def test_what_cannot_start_is_a_row(program, told):
    row, well = measured(program, steady("a"))
    assert re.fullmatch(told, row.error or "") and well.error is None


def test_who_does_not_answer_is_given_up(monkeypatch):
    monkeypatch.setattr(driver, "PATIENCE_S", 0.3)
    begin = time.monotonic()
    (row,) = measured(failing("hangs"))
    assert row.error == "no answer for 0 s" and time.monotonic() - begin < 60


def test_a_worker_ends_when_nobody_is_left_to_ask():
    worker = Worker(steady("a"))
    with ended([worker]):
        worker.ask("prepare")
        assert worker.process.stdin is not None
        worker.process.stdin.close()
        assert worker.process.wait(30) == 0


STOPPED = """
import sys, types
from benchmarks import command
from benchmarks.driver import Program

class Part:
    def measure(bench):
        made = [Program(n, "fake_programs:Steady", {"log": sys.argv[1]}) for n in "ab"]
        made.append(Program("c", "fake_programs:Failing", {"how": "hangs", "after": 1}))
        return {"rows": bench.alternate("x", made, rounds=2, steps=1)}

command.PARTS = {"training": Part}
sys.exit(command.main(["--only", "training", "--out", sys.argv[2]]))
"""


@pytest.mark.parametrize(
    ("number", "status", "told"),
    [(signal.SIGINT, 130, "benchmarks: interrupted"), (signal.SIGTERM, 143, "")],
    ids=["SIGINT", "SIGTERM"],
)
def test_a_stopped_run_leaves_no_worker(number, status, told, tmp_path, monkeypatch):
    log = tmp_path / "log"
    paths = [str(driver.ROOT), str(driver.ROOT / "src"), str(HERE)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    words = [sys.executable, "-c", STOPPED, str(log), str(tmp_path / "out.json")]
    run = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    # Both fakes have had their first turn: now the third one hangs.
    while not log.exists() or len(log.read_text().split()) < 6:
        assert time.monotonic() < deadline and run.poll() is None
        time.sleep(0.05)
    pids = {int(word) for word in log.read_text().split()}
    run.send_signal(number)
    _, complaints = run.communicate(timeout=60)
    assert run.returncode == status
    said = [line for line in complaints.splitlines() if line and "load" not in line]
    assert said == ([told] if told else [])
    assert len(pids) == 2 and not (tmp_path / "out.json").exists()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_nobody_s_tuning_reaches_a_program():
    tuned = {
        "GLIBC_TUNABLES": "x=1",
        "XLA_FLAGS": "",
        "OMP_NUM_THREADS": "1",
        "JAX_ENABLE_X64": "1",
    }
    before = dict(os.environ)
    try:
        os.environ.update(tuned | {"JAX_PLATFORMS": "cpu"})
        assert set(tuned) <= set(settings.clean())
        plain = steady("a")
        own = Program("b", plain.target, {}, environment={"GLIBC_TUNABLES": "y=1"})
        row, set_for = measured(plain, own)
    finally:
        os.environ.clear()
        os.environ.update(before)
    seen = row.facts["environment"]
    assert not set(tuned) & set(seen) and seen["JAX_PLATFORMS"] == "cpu"
    assert set_for.facts["environment"]["GLIBC_TUNABLES"] == "y=1"


def test_ours_has_what_the_command_line_sets_and_others_have_not(monkeypatch):
    from benchmarks.bench import Bench

    monkeypatch.setattr(settings, "huge_pages", lambda: {"GLIBC_TUNABLES": "huge"})
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    bench = Bench(quick=True, torch="python")
    shape = bench.shape()
    assert bench.ours("x", "ours:Training", shape).environment["GLIBC_TUNABLES"] == "huge"
    for target in ("article:Training", "pytorch:Training"):
        assert dict(bench.others("x", target, shape).environment) == settings.EVERYBODY
    assert settings.EVERYBODY["JAX_ENABLE_COMPILATION_CACHE"] == "false"
