"""Scalars of the paths, each beside its null model and the reference, with intervals."""

import dataclasses as dc
import math
from collections.abc import Mapping, Sequence

from velocity_ledger.report._data import Variant
from velocity_ledger.telemetry import Interval, mean_interval, paired_difference


@dc.dataclass(frozen=True)
class Quantity:
    """A scalar of the path and how it is written."""

    name: str
    title: str
    unit: str
    digits: int

    def __str__(self) -> str:
        return self.title


QUANTITIES = (
    Quantity("path_length", "path length", "units of the residual stream", 1),
    Quantity("path_over_norm", "path over final norm", "ratio", 2),
    Quantity("turning_angle", "turning angle", "degrees", 1),
    Quantity("straightness", "straightness", "chord over path, 0 to 1", 3),
)


@dc.dataclass(frozen=True)
class Measured:
    """One quantity of one variant at its last common checkpoint; what is unknown is None."""

    variant: Variant
    quantity: Quantity
    mean: Interval
    null: float | None
    """Mean of the null models, one a seed."""
    from_null: Interval | None
    """Measured minus null, seed by seed."""
    ratio: float | None
    """Mean measured over mean null."""
    from_reference: Interval | None
    """Measured minus the first variant's, paired by seed, at the same training step."""


def scalars(variant: Variant, checkpoint: int) -> dict[int, dict[str, float]]:
    """What is known of each seed's path at a training step, without what is not finite."""
    rows = zip(variant.at(checkpoint), variant.summaries(checkpoint), strict=True)
    return {seed: {k: v for k, v in row.items() if math.isfinite(v)} for seed, row in rows}


def measurements(found: Sequence[Variant]) -> list[Measured]:
    """Every known quantity of every variant, quantity by quantity."""
    known = {v: scalars(v, v.checkpoint) for v in found if v.checkpoint is not None}
    reference = next((v for v in known if v.index == 0), None)
    rows = []
    for quantity in QUANTITIES:
        for variant, seeds in known.items():
            values = {s: row[quantity.name] for s, row in seeds.items() if quantity.name in row}
            if not values:
                continue
            nulls = _of(seeds, f"null_{quantity.name}")
            paired = None
            if reference not in (None, variant) and reference.checkpoint == variant.checkpoint:
                paired = _paired(values, _of(known[reference], quantity.name))
            mean = mean_interval(list(values.values()))
            null = math.fsum(nulls.values()) / len(nulls) if nulls else None
            ratio = mean.mean / null if null else None
            rows.append(
                Measured(variant, quantity, mean, null, _paired(values, nulls), ratio, paired)
            )
    return rows


def _of(seeds: Mapping[int, Mapping[str, float]], name: str) -> dict[int, float]:
    return {seed: row[name] for seed, row in seeds.items() if name in row}


def _paired(a: Mapping[int, float], b: Mapping[int, float]) -> Interval | None:
    both = [seed for seed in a if seed in b]
    return paired_difference([a[s] for s in both], [b[s] for s in both]) if both else None
