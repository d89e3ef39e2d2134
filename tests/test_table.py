"""Columns of plain text."""

from velocity_ledger._table import aligned

ROWS = [("name", "loss", "why"), ("plain", "1.5", "it is"), ("a", "10.25", "")]


def test_numbers_stand_to_the_right_below_a_rule():
    assert aligned(ROWS).splitlines() == [
        "name    loss    why",
        "-------------------",
        "plain    1.5  it is",
        "a      10.25",
    ]


def test_the_last_column_may_stand_left_and_the_rule_be_left_out():
    assert aligned(ROWS, last_left=True, rule=False).splitlines() == [
        "name    loss  why",
        "plain    1.5  it is",
        "a      10.25",
    ]
    assert aligned(ROWS, left=2, rule=False).splitlines()[2] == "a      10.25"
