"""The notebook from a corpus to a finding, run as a script on a tiny text."""

import pathlib
import re
import subprocess
import sys

import pytest

from examples.example import ROOT, run

pytest.importorskip("marimo")
NOTEBOOK = ROOT / "examples" / "corpus_to_finding.py"


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    folder: pathlib.Path = tmp_path_factory.mktemp("notebook")
    (folder / "text.txt").write_text("to be or not to be, that is the question\n" * 60)
    tiny = ["--corpus", "text.txt", "--steps", "6", "--seeds", "2"]
    return run(NOTEBOOK.name, *tiny, cwd=folder)[0]


def table(printed):
    rows = [line.strip("| ").split(" | ") for line in printed.splitlines() if line[:1] == "|"]
    header, _, *body = rows
    return {(int(row[0]), row[1]): dict(zip(header, row, strict=True)) for row in body}


def test_the_table_has_every_quantity_at_both_ends(printed):
    assert [step for step, _ in table(printed)] == [0] * 4 + [6] * 4
    for row in table(printed).values():
        low, high = map(float, row["95 % interval"].split(" to "))
        assert low <= float(row["ledger - plain"]) <= high


def test_an_untrained_ledger_is_short_and_straight_beside_its_null(printed):
    angles = table(printed)[0, "turning angle, degrees"]
    assert float(angles["ledger"]) < float(angles["plain"]) / 2
    assert float(angles["plain"]) == pytest.approx(float(angles["null of plain"]), abs=10)
    assert float(angles["ledger"]) == pytest.approx(float(angles["null of ledger"]), abs=10)


def test_the_finding_is_the_table_in_sentences(printed):
    finding = printed.rpartition("|\n")[2]
    for step in (0, 6):
        row = table(printed)[step, "turning angle, degrees"]
        pattern = rf"At step {step} a token turns by ([\d.]+) .* by ([\d.]+) without"
        (numbers,) = re.findall(pattern, finding)
        assert float(numbers[0]) == pytest.approx(float(row["ledger"]), rel=6e-3)
        assert float(numbers[1]) == pytest.approx(float(row["plain"]), rel=6e-3)
    # Two seeds and one learning rate: whatever the difference is, it ranks nothing.
    assert re.search(r"which ranks neither|no difference is resolved", finding)
    assert not re.search(r"better|worse", finding)


def test_marimo_has_nothing_to_say_against_it():
    words = [sys.executable, "-m", "marimo", "check", "--strict", str(NOTEBOOK)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
