"""Intervals over seeds: a mean, and the difference of two variants run on the same seeds."""

import dataclasses as dc
from collections.abc import Sequence
from typing import SupportsFloat, TypeAlias

import numpy as np
from jaxtyping import Real
from scipy import stats

from velocity_ledger.errors import UserError

Runs: TypeAlias = Sequence[SupportsFloat] | Real[np.ndarray, "..."]


@dc.dataclass(frozen=True)
class Interval:
    """A mean over `n` runs with its two-sided Student interval.

    `low`, `high` and `p` are None where one run, or a value that is not finite, leaves no
    interval; `p` (of the mean being 0) is None as well where the runs do not differ at all.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    p: float | None
    confidence: float = 0.95


def mean_interval(values: Runs, confidence: float = 0.95) -> Interval:
    """Mean of runs, mean +- t(confidence, n - 1) s / sqrt(n), in the units of the values.

    Raises `UserError` for no values, for more than one dimension, and for a confidence outside
    (0, 1).
    """
    runs = np.asarray(values, np.float64)
    if runs.ndim != 1 or not runs.size:
        raise UserError(f"an interval needs a list of at least one value, got shape {runs.shape}")
    if not 0.0 < confidence < 1.0:
        raise UserError(f"confidence must lie between 0 and 1, got {confidence}")
    mean, n = float(np.mean(runs)), runs.size
    if n == 1 or not np.isfinite(runs).all():
        return Interval(mean, None, None, n, None, confidence)
    error = float(stats.sem(runs))
    half = error * float(stats.t.ppf(0.5 + confidence / 2, n - 1))
    p = 2.0 * float(stats.t.sf(abs(mean) / error, n - 1)) if error > 0 else None
    return Interval(mean, mean - half, mean + half, n, p, confidence)


def paired_difference(a: Runs, b: Runs, confidence: float = 0.95) -> Interval:
    """Mean of a_i - b_i over runs paired by seed, with the paired t interval and p.

    A pair that is not finite (a run that diverged) is kept: the mean is then not finite and there
    is no interval, since leaving it out would flatter the variant that diverged. Raises
    `UserError` for lists of different length, and as `mean_interval` does.
    """
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if first.shape != second.shape:
        raise UserError(f"paired runs need equal lists, got {first.shape} and {second.shape}")
    return mean_interval(first - second, confidence)
