"""The training configuration refuses what cannot train."""

import dataclasses as dc

import pytest

from velocity_ledger.errors import UserError
from velocity_ledger.training._config import TrainingConfig

FLOATS = [f.name for f in dc.fields(TrainingConfig) if f.type in (float, "float")]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", FLOATS)
def test_a_number_that_is_not_finite_is_refused(name, value):
    with pytest.raises(UserError, match=f"training {name} must be a finite number"):
        TrainingConfig(**{name: value})


def test_all_rates_are_among_them():
    assert FLOATS == ["peak_rate", "final_rate", "weight_decay", "beta1", "beta2", "clip"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, 1.1])
def test_a_fraction_of_the_schedule_lies_in_it(value):
    with pytest.raises(UserError, match="telemetry_at"):
        TrainingConfig(telemetry_at=(0.0, value))


@pytest.mark.parametrize("value", [-0.1, 1.0, 2.0])
@pytest.mark.parametrize("name", ["beta1", "beta2"])
def test_a_share_that_is_kept_is_below_1(name, value):
    with pytest.raises(UserError, match=f"training {name} must be at least 0 and below 1"):
        TrainingConfig(**{name: value})
