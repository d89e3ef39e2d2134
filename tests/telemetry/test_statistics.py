"""Intervals over seeds against scipy's own tests."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from velocity_ledger.errors import UserError
from velocity_ledger.telemetry import mean_interval, paired_difference

# Best validation losses of the published runs, seeds 0 to 2.
PLAIN = [1.42591, 1.43687, 1.43610]
NGPT_LITE = [1.41931, 1.42068, 1.41936]


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_paired_difference_is_scipys_paired_t_interval(confidence):
    interval = paired_difference(NGPT_LITE, PLAIN, confidence)
    reference: Any = stats.ttest_rel(NGPT_LITE, PLAIN)
    low, high = reference.confidence_interval(confidence)
    assert interval.mean == pytest.approx(np.mean(np.subtract(NGPT_LITE, PLAIN)), rel=1e-12)
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-9)
    assert interval.p == pytest.approx(reference.pvalue, rel=1e-9)
    assert interval.n == 3 and interval.confidence == confidence


@given(
    st.lists(st.integers(-1000, 1000).map(lambda i: i / 64), min_size=2, max_size=12, unique=True)
)
def test_mean_interval_is_scipys_one_sample_interval(values):
    interval = mean_interval(values)
    reference: Any = stats.ttest_1samp(values, 0.0)
    low, high = reference.confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-9, abs=1e-9)
    assert interval.p == pytest.approx(reference.pvalue, rel=1e-9)


def test_pairing_removes_what_seeds_share():
    seeds = np.array([0.0, 5.0, -3.0, 9.0])
    difference = np.array([0.9, 1.1, 1.0, 1.0])
    paired = paired_difference(seeds + difference, seeds)
    assert paired.low is not None and 0.8 < paired.low < 1.0


def test_whole_numbers_and_single_precision_are_runs_too():
    assert paired_difference([1, 2], [np.float32(0.5), np.float32(1.0)]).mean == 0.75


def test_one_run_has_a_mean_and_no_interval():
    interval = paired_difference([2.0], [1.5])
    assert interval.mean == 0.5 and interval.n == 1
    assert interval.low is None and interval.high is None and interval.p is None


def test_identical_runs_have_an_interval_of_no_width_and_no_p():
    interval = paired_difference(PLAIN, PLAIN)
    assert (interval.mean, interval.low, interval.high, interval.p) == (0.0, 0.0, 0.0, None)


def test_a_diverged_run_is_not_left_out():
    interval = paired_difference([1.0, math.nan, 1.0], [1.0, 2.0, 1.0])
    assert math.isnan(interval.mean) and interval.low is None and interval.n == 3


@pytest.mark.parametrize(
    ("a", "b", "confidence"),
    [
        ([1.0], [1.0, 2.0], 0.95),
        ([], [], 0.95),
        ([1.0, 2.0], [1.0, 2.5], 1.0),
        (np.ones((2, 2)), np.ones((2, 2)), 0.95),
    ],
)
def test_what_cannot_be_compared_is_refused(a, b, confidence):
    with pytest.raises(UserError):
        paired_difference(a, b, confidence)
