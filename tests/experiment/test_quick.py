"""The quick preset shows the path result: it is what the demo is for."""

import dataclasses as dc

import pytest

import velocity_ledger as vl
from velocity_ledger.experiment import summary


@pytest.mark.slow
def test_the_ledgers_path_is_under_half_of_plains(tmp_path):
    config = dc.replace(vl.PRESETS["quick"], variants=("plain", "ledger"))
    assert vl.run_experiment(config, tmp_path / "run") == 0
    plain, ledger = summary(vl.open_bundle(tmp_path / "run"))
    assert plain.checkpoint == ledger.checkpoint == config.training.steps
    assert 0 < (ledger.path_length or 0) < (plain.path_length or 0) / 2
    assert 0 < (ledger.turning_angle or 0) < (plain.turning_angle or 0) / 2
