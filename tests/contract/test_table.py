"""The table of findings, and what running a check makes of what it raises."""

import json

import pytest

import velocity_ledger as vl
from velocity_ledger.contract import (
    CHECKS,
    Broken,
    NotDeclared,
    Subject,
    examine,
    meaning,
    run_check,
    title,
)


def kept(subject):
    """It is kept."""


def broken(subject):
    """It is broken."""
    raise Broken("the step is 2 too long")


def unclaimed(subject):
    """It is not claimed."""
    raise NotDeclared("it says nothing of it")


def raises(subject):
    """It raises.

    Over two paragraphs.
    """
    raise TypeError("cannot\nadd " + "x" * 400)


@pytest.fixture
def table():
    return examine(["plain", "ledger(mu=.5)"], (kept, broken, unclaimed, raises))


def test_findings_stand_by_name_and_check(table):
    assert table.forms == ("plain", "ledger(mu=.5)")
    assert table.finding("plain", "kept").outcome == "passes"
    assert table.finding("plain", "broken").reason == "the step is 2 too long"
    assert table.finding("ledger(mu=.5)", "unclaimed").outcome == "not declared"
    assert [f.check for f in table.failures] == ["broken", "raises"] * 2
    with pytest.raises(KeyError):
        table.finding("plain", "another")
    assert table.summary() == "2 integrators, 4 checks: 2 passes, 4 fail, 2 not declared"


def test_any_error_is_a_finding_of_one_line(table):
    reason = table.finding("plain", "raises").reason
    assert reason.startswith("TypeError: cannot add xxx")
    assert "\n" not in reason and len(reason) < 250


def test_text_markdown_and_json(table):
    assert table.to_text().splitlines()[3].split() == ["broken", "FAIL", "FAIL"]
    alone = examine(["plain"], (kept, unclaimed)).to_text()
    assert "- (it says nothing of it)" in alone
    many = examine(["plain"] * 0 + [f"plain(h={k})" for k in (1, 2, 3, 4)], (kept, broken))
    assert many.to_text().splitlines()[2].split() == ["plain(h=1)", "ok", "FAIL"]
    assert many.to_text().splitlines()[-1] == " 2  broken"
    rows = table.to_markdown().splitlines()
    assert rows[0] == "| integrator | kept | broken | unclaimed | raises |"
    assert rows[2] == "| `plain` | ok | FAIL | - | FAIL |"
    record = json.loads(table.to_json())
    assert record["failures"] == 4 and len(record["findings"]) == 8
    assert record["checks"]["raises"] == "It raises."


def test_findings_are_told_as_they_are_made():
    heard = []
    table = examine(["plain"], (kept, broken), told=heard.append)
    assert tuple(heard) == table.findings


def test_a_form_that_cannot_be_read_is_told_before_anything_runs():
    heard = []
    with pytest.raises(vl.UserError, match="no integrator is named nobody"):
        examine(["plain", "nobody"], (kept,), told=heard.append)
    with pytest.raises(vl.UserError, match="name an integrator"):
        examine([], (kept,))
    assert heard == []


def test_every_check_says_what_it_means():
    assert len({title(check) for check in CHECKS}) == len(CHECKS)
    for check in CHECKS:
        assert meaning(check).endswith("."), check
        assert "_" not in title(check)


def test_a_subject_without_a_text_form_is_checked_too():
    class Half(vl.Integrator):
        def step(self, field, stream, state, ctx):
            f = field(stream)
            return stream + 0.5 * f, state, vl.Info(increment=f, raw_step=0.5 * f, step=0.5 * f)

    (checks,) = [[c for c in CHECKS if c.__name__ == "steps_add_up"]]
    assert run_check(checks[0], Subject(Half(), name="half")).outcome == "passes"
