"""Whether numbers are the same bit for bit, the same within tolerance, or different."""

import dataclasses as dc
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from velocity_ledger.experiment import mean_over_tokens

TOLERANCE = 1e-5
"""Of the largest magnitude of a quantity: some hundred roundings of float32."""


@dc.dataclass(frozen=True)
class Agreement:
    """How the quantities of all common cells agree, each counted once a cell."""

    verdict: str
    """`identical`, `within tolerance` or `different`; `nothing in common` where none is."""
    identical: int
    within_tolerance: int
    different: tuple[str, ...]
    """Quantities that differ beyond tolerance in any cell."""
    largest: float | None
    """Largest difference, over the magnitude of its quantity."""
    largest_of: str | None
    only_a: tuple[str, ...]
    """Quantities that only A holds, in any common cell."""
    only_b: tuple[str, ...]
    as_means: tuple[str, ...]
    """Quantities of which one side has only means over tokens, so that means were compared."""
    other_steps: tuple[str, ...]
    """Dimensions along which one side has more: only what both have was compared."""


def agreement(
    pairs: Mapping[tuple[str, int], tuple[xr.Dataset, xr.Dataset]],
    best: Mapping[tuple[str, int], tuple[float | None, float | None]],
) -> Agreement:
    """Compare all quantities of the cells of `pairs`, and the cells' best validations."""
    same = near = 0
    largest, largest_of = 0.0, None
    different: dict[str, None] = {}
    only: tuple[dict[str, None], dict[str, None]] = ({}, {})
    means: dict[str, None] = {}
    other_steps: dict[str, None] = {}
    compared: list[tuple[str, str, Any, Any]] = []
    for (text, seed), (a, b) in pairs.items():
        labels = [str(n) for n in a.dims if n in a.coords and n in b.coords]
        other_steps |= dict.fromkeys(n for n in labels if not a[n].equals(b[n]))
        # Only along what both number: probes may differ in size.
        for label in labels:
            both = np.intersect1d(a[label].values, b[label].values)
            a, b = a.sel({label: both}), b.sel({label: both})
        for name in dict.fromkeys(str(n) for n in [*a.variables, *b.variables]):
            if name not in a.variables or name not in b.variables:
                only[name not in a.variables][name] = None
                continue
            if name in labels or not (a[name].size and b[name].size):
                continue
            x, y = a[name], b[name]
            if ("token" in x.dims) != ("token" in y.dims):
                x, y = mean_over_tokens(x), mean_over_tokens(y)
                means[name] = None
            elif x.dtype != y.dtype and "token" not in x.dims:
                # The layout of files has one precision, ours another: neither is a difference.
                x, y = x.astype(np.float64), y.astype(np.float64)
            compared.append((f"{text}/{seed}", name, x.values, y.values))
    for (text, seed), (one, other) in best.items():
        if one is not None and other is not None:
            compared.append((f"{text}/{seed}", "best_val", np.array(one), np.array(other)))
    for cell, name, x, y in compared:
        apart = distance(x, y)
        if apart == 0.0 and identical(x, y):
            same += 1
        elif apart <= TOLERANCE:
            near += 1
        else:
            different[name] = None
        if apart > largest:
            largest, largest_of = apart, f"{name} of {cell}"
    if different:
        verdict = "different"
    elif not compared:
        verdict = "nothing in common"
    else:
        verdict = "within tolerance" if near else "identical"
    return Agreement(
        verdict=verdict,
        identical=same,
        within_tolerance=near,
        different=tuple(different),
        largest=largest if np.isfinite(largest) and compared else None,
        largest_of=largest_of,
        only_a=tuple(only[0]),
        only_b=tuple(only[1]),
        as_means=tuple(means),
        other_steps=tuple(other_steps),
    )


def identical(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays hold the same numbers bit for bit; undefined ones match each other."""
    if a.shape != b.shape or a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return a.shape == b.shape and bool(np.array_equal(a, b))
    return bool(np.array_equal(a, b, equal_nan=True))


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Largest |a - b| over the largest magnitude; infinite where shapes or NaN differ."""
    if a.shape != b.shape:
        return float("inf")
    if a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return 0.0 if np.array_equal(a, b) else float("inf")
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    finite = np.isfinite(x) & np.isfinite(y)
    rest = ~finite
    if not np.array_equal(x[rest], y[rest], equal_nan=True):
        return float("inf")
    if not finite.any():
        return 0.0
    apart = float(np.max(np.abs(x[finite] - y[finite])))
    size = float(max(np.max(np.abs(x[finite])), np.max(np.abs(y[finite]))))
    return 0.0 if apart == 0.0 else apart / size


def parted(
    a: xr.Dataset, b: xr.Dataset, name: str, along: str
) -> tuple[int, int | None, int | None]:
    """Common steps of two curves, the first where they are unequal, the first beyond tolerance."""
    steps = np.intersect1d(a[along].values, b[along].values)
    x, y = (d[name].values[np.isin(d[along].values, steps)].astype(np.float64) for d in (a, b))
    unequal = ~((x == y) | (np.isnan(x) & np.isnan(y)))
    with np.errstate(invalid="ignore"):
        close = np.abs(x - y) <= TOLERANCE * np.maximum(np.abs(x), np.abs(y))
    apart = unequal & ~close
    found = [int(steps[np.argmax(where)]) if where.any() else None for where in (unequal, apart)]
    return int(steps.size), found[0], found[1]
