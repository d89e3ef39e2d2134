"""Scalars of one checkpoint."""

import numpy as np
import numpy.typing as npt
import pytest

from velocity_ledger.errors import UserError
from velocity_ledger.telemetry import path_dataset, summarise

NAN = float("nan")


def summary_of(**values: npt.ArrayLike) -> dict[str, float]:
    data = path_dataset({7: {k: np.asarray(v, np.float32) for k, v in values.items()}}, windows=1)
    return summarise(data, 7)


def test_definitions_on_numbers_worked_by_hand():
    summary = summary_of(
        step_length=[[1, 3], [5, 7]],
        stream_norm=[[9, 9], [4, 8]],
        turning_angle=[[NAN, NAN], [30, 90]],
        straightness=[0.5, 0.7],
        path_over_norm=[1.5, 1.25],
        angular_path=[40, 60],
        zero_steps=[0, 0],
    )
    assert summary == {
        "path_length": 8.0,  # 2 + 6
        "turning_angle": 60.0,
        "angles": 2.0,
        "final_norm": 6.0,
        "straightness": pytest.approx(0.6),
        "path_over_norm": pytest.approx(1.375),
        "angular_path": 50.0,
        "zero_steps": 0.0,
    }


def test_undefined_angles_are_left_out_and_counted():
    summary = summary_of(turning_angle=[[NAN, NAN, NAN], [10, NAN, 50]], zero_steps=[0, 1, 0])
    assert (summary["turning_angle"], summary["angles"], summary["zero_steps"]) == (30.0, 2.0, 1.0)


def test_a_path_of_zero_steps_has_no_angle_and_no_straightness():
    nothing = np.full((3, 2), NAN)
    summary = summary_of(turning_angle=nothing, straightness=[NAN, NAN], zero_steps=[3, 3])
    assert np.isnan(summary["turning_angle"]) and np.isnan(summary["straightness"])
    assert (summary["angles"], summary["zero_steps"]) == (0.0, 6.0)


def test_means_over_many_tokens_are_taken_in_float64():
    value = np.float32(0.1)
    summary = summary_of(path_over_norm=np.full(1_000_000, value))
    assert summary["path_over_norm"] == pytest.approx(float(value), rel=1e-12)


def test_what_was_not_measured_is_no_key():
    assert set(summary_of(step_length=np.ones((2, 2)))) == {"path_length"}


def test_a_step_that_was_not_measured_is_refused():
    with pytest.raises(UserError, match="7"):
        summarise(path_dataset({7: {"chord": np.ones(1)}}, windows=1), 8)
