"""The trials of a sweep as they lie in a bundle, and what they say; without JAX."""

import dataclasses as dc
import math
import pathlib
from collections.abc import Sequence
from typing import Any

from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _json
from velocity_ledger.training._config import TrainingConfig

NAME = "sweep.json"


@dc.dataclass(frozen=True)
class Trial:
    """One variant trained for a short schedule at one rate; `val` is None where it diverged."""

    variant: str
    rate: float
    seed: int
    val: float | None
    """Nats a token at the end of the trial."""


def read_trials(bundle: pathlib.Path) -> list[Trial]:
    """Return the trials of a bundle's sweep; none where there was none.

    Raises `UserError` where the file is damaged.
    """
    path = bundle / NAME
    if not path.exists():
        return []
    try:
        record = _json.loads(path.read_text(encoding="utf-8"))
        trials = [Trial(**trial) for trial in record["trials"]]
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise UserError(f"{path} is damaged: delete it and resume; its trials run anew") from error
    good = all(
        isinstance(t.variant, str)
        and _is_number(t.rate)
        and isinstance(t.seed, int)
        and (t.val is None or _is_number(t.val))
        for t in trials
    )
    if not good:
        raise UserError(f"{path} is damaged: delete it and resume; its trials run anew")
    return trials


def at_rate(training: TrainingConfig, rate: float) -> TrainingConfig:
    """Return a schedule scaled to a peak of `rate`: the final rate stays in proportion."""
    final = training.final_rate * (rate / training.peak_rate)
    return dc.replace(training, peak_rate=rate, final_rate=final)


def means(trials: Sequence[Trial], variant: str) -> dict[float, float]:
    """Return a variant's mean validation at each rate, nats a token; infinite where one diverged.

    The rates in ascending order.
    """
    rates = sorted({t.rate for t in trials if t.variant == variant})
    found = {}
    for rate in rates:
        values = [t.val for t in trials if t.variant == variant and t.rate == rate]
        whole = [v for v in values if v is not None]
        found[rate] = math.fsum(whole) / len(whole) if len(whole) == len(values) else math.inf
    return found


def best_rate(trials: Sequence[Trial], variant: str) -> float | None:
    """Return the rate of a variant's lowest mean validation; None where every one diverged."""
    by = means(trials, variant)
    rate = min(by, key=lambda r: by[r], default=None)
    return None if rate is None or not math.isfinite(by[rate]) else rate


def at_edge(trials: Sequence[Trial], variant: str) -> bool:
    """Whether a variant's best rate is the lowest or the highest that was tried."""
    rates = list(means(trials, variant))
    return best_rate(trials, variant) in (rates[0], rates[-1]) if rates else False


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
