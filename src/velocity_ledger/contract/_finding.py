"""What a check has found."""

import dataclasses as dc
from typing import Any, Literal

import numpy as np

Outcome = Literal["passes", "fails", "not declared"]


@dc.dataclass(frozen=True)
class Finding:
    """What one check says of one integrator; `reason` says why where it does not pass."""

    form: str
    check: str
    outcome: Outcome
    reason: str = ""


class Broken(AssertionError):
    """An integrator breaks a rule; the message says how."""


class NotDeclared(Exception):
    """An integrator claims nothing that a check could try; the message says what it lacks."""


def require(kept: Any, reason: str) -> None:
    """Raise `Broken` with the reason unless the rule is kept."""
    if not bool(kept):
        raise Broken(reason)


def require_close(found: Any, expected: Any, tolerance: float, what: str) -> None:
    """Raise `Broken` where two arrays differ by more than a tolerance, or in bits where it is 0."""
    a, b = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    require(a.shape == b.shape, f"{what}: shapes {a.shape} and {b.shape}")
    if a.size == 0 or np.array_equal(a, b, equal_nan=True):
        return
    apart = np.abs(a - b)
    # NaN on one side compares as false.
    if not bool(np.all(apart <= tolerance)):
        require(False, f"{what}: {np.max(apart):.2g} apart, {tolerance:.2g} allowed")
