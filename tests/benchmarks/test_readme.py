"""README's table of speeds is what the runs in docs/ give."""

import copy
import json

import pytest

from benchmarks import readme
from benchmarks.parts import training
from velocity_ledger.errors import UserError

RUNS = [json.loads(path.read_text(encoding="utf-8")) for path in readme.kept()]


def test_there_are_runs():
    assert RUNS and not any(run["quick"] for run in RUNS)


def test_the_page_holds_what_they_give():
    page = readme.README.read_text(encoding="utf-8")
    assert readme.put(page, readme.text(RUNS)) == page


@pytest.mark.parametrize("run", RUNS, ids=[path.stem for path in readme.kept()])
def test_figures_are_those_of_the_raw_rounds(run):
    rows = run["training"]["rows"]
    assert {"article", "plain-fp32", "products-fp32"} <= {row["name"] for row in rows}
    for row in rows:
        assert row["figures"] == training.found(row, rows)


def test_another_round_makes_another_table():
    slower = copy.deepcopy(RUNS)
    row = next(r for r in slower[0]["training"]["rows"] if r["name"] == "plain-fp32")
    row["seconds"] = [[2 * s for s in times] for times in row["seconds"]]
    assert readme.text(slower) != readme.text(RUNS)


def test_a_run_without_a_program_has_a_gap():
    other = copy.deepcopy(RUNS[0])
    other["machine"] |= {"python": "3.99.0", "torch": None}
    other["training"]["left_out"] = ["PyTorch: none"]
    other["training"]["rows"] = [r for r in other["training"]["rows"] if r["name"] != "article"]
    text = readme.text([RUNS[0], other])
    (line,) = [line for line in text.splitlines() if line.startswith("| the article's way |")]
    assert line.endswith("| - | - | - |")
    assert "3.99, jax" in text and "left out: PyTorch: none" in text


def test_a_page_without_the_marks_is_told():
    with pytest.raises(UserError, match=r"README\.md has no"):
        readme.put("no marks", "table")


def test_words_that_it_does_not_know_change_nothing(capsys, monkeypatch):
    monkeypatch.setattr(readme, "write_aside", lambda *given: pytest.fail("written"))
    assert readme.main(["other.json"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert readme.main(["--help"]) == 0
