"""What the figures show, read from a bundle."""

import dataclasses as dc
import math
from collections.abc import Sequence

import numpy as np
import xarray as xr

from velocity_ledger.experiment import Bundle, summary
from velocity_ledger.telemetry import Interval, mean_interval, paired_difference, summarise

FIGURES = "figures"
"""The folder of a bundle in which its figures lie, unless others are named."""


@dc.dataclass(frozen=True)
class Curve:
    """Validation losses of one cell, nats a character, at optimizer steps."""

    step: np.ndarray
    loss: np.ndarray
    counted: int | None = None
    """The step whose weights were kept, where that is recorded: not all validations count."""

    @property
    def best(self) -> tuple[int, float]:
        """Step and loss of the best validation."""
        kept = np.flatnonzero(self.step == self.counted)
        k = int(kept[0] if kept.size else np.argmin(self.loss))
        return int(self.step[k]), float(self.loss[k])


@dc.dataclass(frozen=True, eq=False)
class Variant:
    """The cells that stand for one variant, by seed, at its place in the run.

    They are those of its row in the summary; so is `checkpoint`, the last training step at which
    all of them were measured, None where there is none.
    """

    index: int
    text: str
    cells: dict[int, xr.Dataset]
    checkpoint: int | None
    diverged: bool = False
    """Whether these cells diverged: then the variant has no other."""
    left_out: int = 0
    """Measured cells that are not used: they diverged, or others are finished."""
    difference: Interval | None = None
    """Best validation minus the first variant's, paired by seed, as in the table."""
    _known: dict[int, list[dict[str, float]]] = dc.field(default_factory=dict, init=False)

    def curves(self) -> dict[int, Curve]:
        """Validation curves by seed, without the values that are not finite."""
        found = {}
        for seed, data in self.cells.items():
            if "val_loss" not in data:
                continue
            loss = data["val_loss"].values
            finite = np.isfinite(loss)
            if finite.any():
                best = data.attrs.get("best_step")
                found[seed] = Curve(
                    data["validation"].values[finite],
                    loss[finite],
                    None if best is None else int(best),
                )
        return found

    def at(self, checkpoint: int) -> dict[int, xr.Dataset]:
        """By seed, the cells that were measured at this training step."""
        return {s: d for s, d in self.cells.items() if checkpoint in _checkpoints(d)}

    def summaries(self, checkpoint: int) -> list[dict[str, float]]:
        """Scalars of the paths at this step, one a seed, their null models' as `null_` names."""
        if checkpoint in self._known:
            return self._known[checkpoint]
        rows = self._known[checkpoint] = []
        for data in self.at(checkpoint).values():
            row = summarise(data, checkpoint)
            now = data.sel(checkpoint=checkpoint)
            for name in (str(n) for n in data.data_vars):
                if name.startswith("null_"):
                    row[name] = float(now[name])
            rows.append(row)
        return rows

    def scalar(self, name: str, checkpoint: int) -> list[float]:
        """One scalar of `summaries`, a seed each, where it is known and finite."""
        values = [row.get(name, math.nan) for row in self.summaries(checkpoint)]
        return [value for value in values if math.isfinite(value)]

    def profiles(self, name: str, checkpoint: int) -> np.ndarray | None:
        """Mean of a quantity over tokens, [seed, sub_update]; NaN where undefined or not finite.

        None where no cell has it, or the cells do not have equally many sub-updates.
        """
        rows = []
        for data in self.at(checkpoint).values():
            if name not in data or "sub_update" not in data[name].dims:
                continue
            values = data[name].sel(checkpoint=checkpoint)
            order = [d for d in ("sub_update", "token") if d in values.dims]
            found = values.transpose(*order).values.astype(np.float64)
            found = np.where(np.isfinite(found), found, np.nan)
            # An imported cell holds means over tokens already.
            rows.append(mean_defined(found) if found.ndim == 2 else found)
        return np.stack(rows) if len({row.size for row in rows}) == 1 else None

    def profile(self, name: str, checkpoint: int) -> np.ndarray | None:
        """Mean of a quantity over tokens and seeds, for every sub-update; NaN where undefined."""
        rows = self.profiles(name, checkpoint)
        return None if rows is None else mean_defined(rows.T)


def variants(bundle: Bundle) -> list[Variant]:
    """The variants of a bundle that have measurements, in the run's order."""
    lost = {(cell.variant, cell.seed) for cell in bundle.cells if cell.state == "diverged"}
    found = []
    # The table's choice of cells and checkpoint, so that figures and table agree.
    for index, row in enumerate(summary(bundle)):
        measured = {seed: data for (v, seed), data in bundle.datasets.items() if v == row.variant}
        cells = {seed: data for seed, data in measured.items() if seed in row.seeds}
        if cells:
            diverged = any((row.variant, seed) in lost for seed in cells)
            left_out = len(measured) - len(cells)
            found.append(
                Variant(
                    index, row.variant, cells, row.checkpoint, diverged, left_out, row.difference
                )
            )
    return found


@dc.dataclass(frozen=True)
class Facts:
    """What figures say of a run beside its numbers; what is unknown is None."""

    corpus: str | None
    """Its name and size."""
    alternating: int | None
    """Sub-updates of the run's model, in which attention and MLP alternate."""
    steps: int | None
    """Training steps of the schedule."""
    unmeasured: tuple[str, ...] = ()
    """Variants of which nothing is measured yet."""
    unit: str = "character"
    """What a token is."""


def facts(bundle: Bundle) -> Facts:
    """Read what the run says of itself; an imported one may say nothing."""
    corpus = bundle.manifest.get("corpus") or {}
    name, size = corpus.get("name") or corpus.get("kind"), corpus.get("characters")
    text = None
    if name:
        text = f"{name}, {size:,} characters" if size else str(name)
    known = {variant for variant, _ in bundle.datasets}
    unmeasured = tuple(v["text"] for v in bundle.variants if v["text"] not in known)
    config = bundle.config
    if config is None:
        return Facts(text, None, None, unmeasured)
    return Facts(text, config.model.sub_updates, config.training.steps, unmeasured)


def left_out(variants: Sequence[Variant]) -> str:
    """How many measured cells the figures do not use, in words; empty where they use all."""
    count = sum(variant.left_out for variant in variants)
    return f"without {count} diverged or unfinished cell{'s' * (count > 1)}" if count else ""


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """Mean over seeds at the steps that every seed has reached; empty where they share none."""
    steps = curves[0].step
    for curve in curves[1:]:
        steps = np.intersect1d(steps, curve.step)
    rows = [curve.loss[np.isin(curve.step, steps)] for curve in curves]
    return Curve(steps, np.mean(rows, axis=0))


def difference(a: Curve, b: Curve) -> Curve:
    """Losses a - b at the steps that both have."""
    steps = np.intersect1d(a.step, b.step)
    return Curve(steps, a.loss[np.isin(a.step, steps)] - b.loss[np.isin(b.step, steps)])


def paired_band(a: dict[int, Curve], b: dict[int, Curve]) -> tuple[np.ndarray, list[Interval]]:
    """Steps at which every seed of both has a loss, and there the paired differences a - b.

    No step where no seed is in both.
    """
    seeds = sorted(a.keys() & b.keys())
    curves = [curve for seed in seeds for curve in (a[seed], b[seed])]
    if not curves:
        return np.array([], np.int64), []
    steps = mean_curve(curves).step
    first, second = (
        np.stack([side[seed].loss[np.isin(side[seed].step, steps)] for seed in seeds])
        for side in (a, b)
    )
    return steps, [paired_difference(*pair) for pair in zip(first.T, second.T, strict=True)]


def intervals(rows: np.ndarray) -> list[Interval | None]:
    """Mean and 95 % interval over the first axis, where it is defined in every row."""
    whole = np.isfinite(rows).all(0)
    return [
        mean_interval(column) if known else None
        for column, known in zip(rows.T, whole, strict=True)
    ]


def mean_defined(values: np.ndarray) -> np.ndarray:
    """Mean over the last axis of the values that are not NaN; NaN where none is."""
    defined = ~np.isnan(values)
    count = defined.sum(-1)
    total = np.where(defined, values, 0.0).sum(-1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _checkpoints(data: xr.Dataset) -> list[int]:
    return [int(c) for c in data["checkpoint"].values] if "checkpoint" in data.coords else []
