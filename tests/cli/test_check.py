"""The verb `check`: what it prints, and its exit status."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from velocity_ledger import contract
from velocity_ledger.cli import main
from velocity_ledger.contract import CHECKS

MINE = """
from velocity_ledger import Info, Integrator


class Mine(Integrator):
    h: float = 0.5

    def step(self, field, stream, state, ctx):
        f = field(stream)
        step = self.h * f{fault}
        return stream + step, state, Info(increment=f, raw_step=step, step=step)
"""


@pytest.fixture
def few(monkeypatch):
    """A few checks: what all of them find is tried elsewhere."""
    names = ("text_form", "rests_without_fields", "has_its_order")
    some = tuple(check for check in CHECKS if check.__name__ in names)
    monkeypatch.setattr(contract, "CHECKS", some)
    run = contract.examine
    monkeypatch.setattr(contract, "examine", lambda forms, told=None: run(forms, some, told))
    return some


def test_a_file_of_ones_own_is_checked(few, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(MINE.format(fault=""))
    form = f"{tmp_path / 'mine.py'}:Mine(h=.2)"
    assert main(["check", "plain", form]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines()[0].split() == ["plain", form]
    assert "has its order" in out and "FAIL" not in out
    assert out.splitlines()[-1] == "2 integrators, 3 checks: 5 passes, 1 not declared"


def test_a_failure_is_one_line_and_status_1(few, tmp_path, capsys):
    (tmp_path / "mine.py").write_text(MINE.format(fault=" + 0.001"))
    form = f"{tmp_path / 'mine.py'}:Mine"
    assert main(["check", form]) == 1
    out = capsys.readouterr().out
    (line,) = [line for line in out.splitlines() if line.startswith("FAIL ")]
    assert line == f"FAIL  {form}: rests without fields: step is 0.001 without fields"


def test_json_is_strict(few, capsys):
    assert main(["check", "plain", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["failures"] == 0
    assert {f["outcome"] for f in record["findings"]} == {"passes"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nobody"], "no integrator is named nobody"),
        (["plain", "./none.py:Mine"], "cannot read ./none.py"),
        (["ledger(mu=2)"], "mu must lie between -1 and 1"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(words, said, capsys):
    assert main(["check", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and len(err.splitlines()) == 1


def test_an_interrupt_is_one_line(tmp_path):
    slow = "import time\ntime.sleep(60)\n"
    (tmp_path / "mine.py").write_text("open('begun', 'w').close()\n" + slow)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen(
        [sys.executable, "-m", "velocity_ledger", "check", "mine.py:Mine"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "velocity-ledger: interrupted\n")
