"""What the documentation says of its comparison, held against the numbers beside it."""

import json

import pytest

import snippets

FOUND = json.loads((snippets.ROOT / "docs" / "comparison.json").read_text(encoding="utf-8"))
ROWS = {row["variant"]: row for row in FOUND["rows"]}
AT_HALF = "riemannian-ledger with training.peak_rate=0.006 training.final_rate=0.0006"


def minus_plain(variant):
    return ROWS[variant]["difference"]


def holds_zero(difference):
    return difference["low"] <= 0 <= difference["high"]


def test_twelve_variants_at_three_seeds_each_at_the_rate_of_its_sweep():
    asked = [name for name in ROWS if " with " not in name]
    assert len(asked) >= 12
    assert all(row["seeds"] == [0, 1, 2] for row in ROWS.values())
    assert all(row["state"] == "3 finished" for row in ROWS.values())
    assert all(f" {rate} " in FOUND["command"] for rate in {ROWS[n]["peak_rate"] for n in asked})
    assert all(name in FOUND["command"] for name in asked)


def test_a_memory_gains_and_how_it_is_set_adds_nothing_that_shows():
    three = [minus_plain(name) for name in ("ledger", "learned-ledger", "nesterov")]
    assert all(d["high"] < 0 for d in three)
    means = [d["mean"] for d in three]
    assert max(means) - min(means) < 0.1 * abs(min(means))


def test_the_gain_of_the_filter_is_not_what_gains():
    control = minus_plain("damped-euler")
    assert holds_zero(control)
    assert control["mean"] > minus_plain("ledger")["mean"] / 3
    assert control["low"] > minus_plain("ledger")["high"]


def test_what_is_published_as_better_does_not_show_here():
    for name in ("yuriiformer(velocity='tokens')", "tmmformer"):
        assert holds_zero(minus_plain(name))


def test_training_adds_straightness_and_not_shortness():
    ledger, plain = ROWS["ledger"], ROWS["plain"]
    assert ledger["path_length"] < plain["path_length"] / 2
    assert ledger["path_length"] > 1.5 * ledger["null_path_length"]
    assert ledger["straightness"] > ledger["null_straightness"]


def test_learned_tables_against_plain_of_their_size():
    (row,) = [row for row in ROWS.values() if row["match"]]
    assert row["variant"].startswith("yuriiformer") and holds_zero(row["match_difference"])
    assert row["parameters"] == pytest.approx(ROWS[row["match"]]["parameters"], rel=1e-3)
    assert row["parameters"] > 1.02 * ROWS["plain"]["parameters"]


def test_a_short_sweep_chose_badly():
    chosen, half = ROWS["riemannian-ledger"], ROWS[AT_HALF]
    assert chosen["peak_rate"] == 2 * half["peak_rate"]
    trials = {t["rate"]: t["val"] for t in FOUND["trials"] if t["variant"] == "riemannian-ledger"}
    assert 0 < trials[half["peak_rate"]] - trials[chosen["peak_rate"]] < 0.01
    assert half["best_val"] < chosen["best_val"] - 0.02


def test_the_reference_has_no_better_rate_beyond_the_edge():
    assert any("at the edge of the sweep for plain:" in note for note in FOUND["notes"])
    trials = {t["rate"]: t["val"] for t in FOUND["beyond"] if t["variant"] == "plain"}
    chosen = ROWS["plain"]["peak_rate"]
    assert min(trials) < chosen and all(trials[rate] >= trials[chosen] for rate in trials)
