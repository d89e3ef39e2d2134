"""The rows and the table, from made-up bundles with known answers."""

import dataclasses as dc
import math
import re

import pytest
from scipy import stats

from velocity_ledger.experiment._bundle import open_bundle
from velocity_ledger.experiment._config import PRESETS
from velocity_ledger.experiment._summary import summary, table

_VALUES = {
    ("plain", 0): 2.0, ("plain", 1): 2.1, ("plain", 2): 2.05,
    ("ledger", 0): 2.1, ("ledger", 1): 2.3, ("ledger", 2): 2.2,
}  # fmt: skip
_THREE = dc.replace(
    PRESETS["smoke"], variants=("plain", "ledger"), seeds=(0, 1, 2), corpus="text.txt"
)


def _value(variant, seed):
    return _VALUES[variant, seed]


def test_means_and_paired_interval_are_those_of_the_definitions(synthetic):
    bundle = open_bundle(synthetic(config=_THREE, best_val=_value))
    plain, ledger = summary(bundle)
    assert plain.best_val == pytest.approx(2.05)
    assert plain.bits_per_character == pytest.approx(2.05 / math.log(2))
    assert plain.difference is None
    difference = ledger.difference
    assert difference is not None
    assert difference.mean == pytest.approx(0.15)
    expected = stats.ttest_rel([2.1, 2.3, 2.2], [2.0, 2.1, 2.05]).confidence_interval(0.95)
    assert difference.low == pytest.approx(expected.low)
    assert difference.high == pytest.approx(expected.high)
    assert plain.seeds == ledger.seeds == (0, 1, 2)


def test_path_is_that_of_the_last_checkpoint_with_its_null(synthetic):
    bundle = open_bundle(synthetic())
    row = summary(bundle)[1]
    assert row.checkpoint == 20
    at = [bundle.datasets["ledger", s].sel(checkpoint=20) for s in (0, 1)]
    path = sum(float(d["step_length"].mean("token").sum()) for d in at) / 2
    assert row.path_length == pytest.approx(path, rel=1e-6)
    assert row.null_path_length == 20.5
    assert row.straightness == pytest.approx(0.5)
    assert row.null_turning_angle == 30.0
    assert row.null_path_over_norm == 0.125


def test_finished_cells_speak_where_there_are_any(synthetic):
    state = {0: "finished", 1: "running", 2: "pending"}
    bundle = open_bundle(synthetic(config=_THREE, best_val=_value, states=lambda v, s: state[s]))
    plain, ledger = summary(bundle)
    assert plain.seeds == (0,)
    assert plain.best_val == 2.0
    assert plain.checkpoint == 20
    assert plain.state == "1 finished, 1 running, 1 pending"
    assert ledger.difference is not None
    assert ledger.difference.n == 1


def test_half_a_cell_is_not_paired_with_a_whole_one(synthetic):
    state = {"plain": "finished", "ledger": "running"}
    bundle = open_bundle(synthetic(states=lambda v, s: state[v]))
    ledger = summary(bundle)[1]
    assert ledger.best_val is not None
    assert ledger.checkpoint == 10
    assert ledger.difference is None


def test_cells_stopped_at_one_step_are_paired(synthetic):
    bundle = open_bundle(synthetic(states=lambda v, s: "stopped"))
    ledger = summary(bundle)[1]
    assert ledger.difference is not None
    assert ledger.difference.n == 2


def test_diverged_cells_are_left_out_and_named(synthetic):
    bundle = open_bundle(
        synthetic(
            config=_THREE, best_val=_value,
            states=lambda v, s: "diverged" if (v, s) == ("ledger", 1) else "finished",
        )
    )  # fmt: skip
    ledger = summary(bundle)[1]
    assert ledger.seeds == (0, 2)
    assert ledger.best_val == pytest.approx(2.15)
    assert ledger.difference is not None
    assert ledger.difference.n == 2
    assert "ledger/1 at step 10" in table(bundle)


def test_table_says_what_a_reader_must_know(synthetic):
    text = table(open_bundle(synthetic(config=_THREE, best_val=_value)))
    assert "2.0500" in text
    assert f"{2.05 / math.log(2):.4f}" in text
    assert re.search(r"\+0\.1500 \[\+0\.02\d+, \+0\.27\d+\]", text)
    assert "up to step 20 of a schedule of 20" in text
    assert "Not converged: the best validation was the last one in every cell." in text
    assert "20.50)" in text
    assert "Null model" in text
    assert max(map(len, text.splitlines())) <= 130


def test_table_does_not_cry_wolf(synthetic):
    text = table(open_bundle(synthetic(best_step=10)))
    assert "Not converged" not in text


def test_cells_that_had_not_converged_are_named(synthetic):
    state = {0: "finished", 1: "running"}
    bundle = open_bundle(synthetic(states=lambda v, s: state[s], best_step=20))
    assert [r.not_converged for r in summary(bundle)] == [(0,), (0,)]
    path = bundle.path / "manifest.json"
    path.write_text(path.read_text().replace('"best_step": 20', '"best_step": 10', 1))
    text = table(open_bundle(bundle.path))
    assert "Not converged: the best validation was the last one in ledger/0." in text


def test_one_seed_has_no_interval_and_says_so(synthetic):
    config = dc.replace(_THREE, seeds=(0,))
    text = table(open_bundle(synthetic(config=config, best_val=_value)))
    assert "One seed: the differences have no interval." in text
    assert "+0.1000" in text
    assert "[+" not in text


@pytest.mark.parametrize("state", ["pending", "running", "interrupted", "stopped", "diverged"])
def test_half_done_bundles_give_a_table(synthetic, state):
    text = table(open_bundle(synthetic(states=lambda v, s: state)))
    assert f"2 {state}" in text
    if state == "pending":
        assert "No cell has been trained yet." in text
