"""The path of one cell at the training steps where it was measured."""

import dataclasses as dc
import math
from collections.abc import Callable

import numpy as np
import xarray as xr
from jaxtyping import Float

from velocity_ledger.experiment import Bundle
from velocity_ledger.report._data import Curve, Variant, mean_defined, variants
from velocity_ledger.report.motion._geometry import Placed, alignment, lay_out, mix, place, upright
from velocity_ledger.report.motion._rule import Rule, ledger_like, rule_of

NUMBERS = ("path_length", "turning_angle", "path_over_norm")


@dc.dataclass(frozen=True, eq=False)
class Look:
    """The path of one cell at one training step.

    `gram` and `increments` are inner products of its steps, and of the field's outputs with them;
    None where they were not recorded. `numbers` holds what is known of `NUMBERS` and of their null
    models.
    """

    lengths: Float[np.ndarray, " steps"]
    angles: Float[np.ndarray, " steps"]
    gram: Float[np.ndarray, "steps steps"] | None
    increments: Float[np.ndarray, "steps steps"] | None
    numbers: dict[str, float]


@dc.dataclass(frozen=True, eq=False)
class Walk:
    """The cell that stands for a variant, with its looks by training step."""

    variant: Variant
    rule: Rule
    seed: int
    seeds: int
    tokens: int | None
    looks: dict[int, Look]
    validation: Curve | None

    @property
    def last(self) -> int:
        return max(self.looks)

    @property
    def known(self) -> bool:
        """Whether directions are known, at every step."""
        return all(look.gram is not None for look in self.looks.values())

    def placed(self, step: int) -> Placed:
        """The path at a measured step, in its plane, x_n to the right of x_0."""
        return self.between(step, step, 0.0)

    def between(self, a: int, b: int, share: float) -> Placed:
        """The path between two measured steps: inner products, or lengths and angles, mixed."""
        one, two = self.looks[a], self.looks[b]
        if self.known and one.gram is not None and two.gram is not None:
            found = place(mix(one.gram, two.gram, share))
        else:
            found = laid_out(
                mix(one.lengths, two.lengths, share), mix(one.angles, two.angles, share)
            )
        return found.turned(upright(found.points))

    def increments(self, placed: Placed, step: int) -> Float[np.ndarray, "steps 2"] | None:
        """The field's outputs at a measured step, in the axes of `placed`; None if unknown."""
        if self.rule.kind == "plain" and self.rule.h:
            return np.diff(placed.points, axis=0) / self.rule.h
        recorded = self.looks[step].increments
        return recorded @ placed.axes if self.known and recorded is not None else None


def laid_out(lengths: Float[np.ndarray, " steps"], angles: Float[np.ndarray, " steps"]) -> Placed:
    """A path of which only lengths and angles are known; nothing else has a place in its plane."""
    points = lay_out(lengths, angles)
    return Placed(points, np.zeros((len(lengths), 2)), math.nan, math.nan)


def aligned(paths: list[Placed]) -> list[Placed]:
    """The same paths, each turned nearest to its successor, so that none flips or spins."""
    done = [paths[-1]] if paths else []
    for path in reversed(paths[:-1]):
        done.append(path.turned(alignment(path.points, done[-1].points)))
    return done[::-1]


def walks(bundle: Bundle) -> tuple[list[Walk], dict[str, str]]:
    """The one or two variants that are compared, and why others of these could not be drawn.

    They are the first plain one and the first with a velocity; where one of the kinds is missing,
    the reference and the first other one. The cell is that of the lowest seed, one that both have
    if there is one.
    """
    records = {record["text"]: record for record in bundle.variants}
    found = [v for v in variants(bundle) if v.text in records]
    reasons: dict[str, str] = {}
    drawable = []
    for variant in found:
        reason = _reason(variant)
        if reason:
            reasons[variant.text] = reason
        else:
            drawable.append(variant)
    pair = _pair(drawable, records)
    common = set[int].intersection(*(set(_usable(v)) for v in pair)) if pair else set[int]()
    made = []
    for variant in pair:
        usable = _usable(variant)
        seed = min(common or usable)
        data = variant.cells[seed]
        looks = {step: _look(data, step) for step in usable[seed]}
        made.append(
            Walk(
                variant,
                rule_of(records[variant.text]),
                seed,
                len(variant.cells),
                data.sizes.get("token"),
                looks,
                variant.curves().get(seed),
            )
        )
    return made, reasons


def _pair(found: list[Variant], records: dict[str, dict]) -> list[Variant]:
    rules = {v.text: rule_of(records[v.text]) for v in found}
    plain = [v for v in found if rules[v.text].kind == "plain"]
    plain += [v for v in found if rules[v.text].euler and v not in plain]
    ledger = [v for v in found if rules[v.text].kind == "ledger"]
    ledger += [v for v in found if ledger_like(records[v.text]) and v not in ledger]
    if plain and ledger:
        return [plain[0], ledger[0]]
    return found[:2]


def _reason(variant: Variant) -> str:
    """Why no path of this variant can be drawn; empty where one can."""
    if _usable(variant):
        return ""
    datasets = list(variant.cells.values())
    if not any("step_length" in data for data in datasets):
        return "its step lengths were not recorded"
    if not any("step_gram" in data or "turning_angle" in data for data in datasets):
        return "neither directions nor turning angles of its steps were recorded"
    return "its path is not finite at any recorded training step"


def _usable(variant: Variant) -> dict[int, list[int]]:
    """By seed, the training steps at which a path can be drawn, where there is one."""
    found = {}
    for seed, data in sorted(variant.cells.items()):
        if "checkpoint" not in data.coords or "step_length" not in data:
            continue
        steps = [int(s) for s in data["checkpoint"].values]
        usable = [s for s in sorted(steps) if _drawable(data, s)]
        if usable:
            found[seed] = usable
    return found


def _drawable(data: xr.Dataset, step: int) -> bool:
    lengths = _means(data, "step_length", step)
    if lengths is None or not lengths.size or not np.isfinite(lengths).all():
        return False
    return _gram(data, "step_gram", step) is not None or "turning_angle" in data


def _look(data: xr.Dataset, step: int) -> Look:
    lengths = _means(data, "step_length", step)
    angles = _means(data, "turning_angle", step)
    assert lengths is not None
    numbers = {"path_length": float(lengths.sum())}
    readers: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "turning_angle": lambda values: mean_defined(values.reshape(-1)),
        "path_over_norm": mean_defined,
    }
    for name, reader in readers.items():
        if name in data:
            values = data[name].sel(checkpoint=step).values.astype(np.float64)
            numbers[name] = float(reader(values))
    for name in NUMBERS:
        if f"null_{name}" in data:
            numbers[f"null_{name}"] = float(data[f"null_{name}"].sel(checkpoint=step))
    return Look(
        lengths,
        np.full(lengths.shape, np.nan) if angles is None else angles,
        _gram(data, "step_gram", step),
        _gram(data, "increment_step_gram", step),
        {name: value for name, value in numbers.items() if math.isfinite(value)},
    )


def _means(data: xr.Dataset, name: str, step: int) -> np.ndarray | None:
    """Means over tokens for every sub-update; a published run holds nothing else."""
    if name not in data:
        return None
    values = data[name].sel(checkpoint=step)
    if "token" in values.dims:
        return mean_defined(values.transpose("sub_update", "token").values.astype(np.float64))
    return values.values.astype(np.float64)


def _gram(data: xr.Dataset, name: str, step: int) -> np.ndarray | None:
    if name not in data:
        return None
    values = data[name].sel(checkpoint=step).values.astype(np.float64)
    return values if np.isfinite(values).all() else None
