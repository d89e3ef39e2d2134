"""What the figures show, read from a bundle."""

import dataclasses as dc
from collections.abc import Sequence

import numpy as np
import xarray as xr

from velocity_ledger.experiment import Bundle, summary
from velocity_ledger.telemetry import summarise


@dc.dataclass(frozen=True)
class Curve:
    """Validation losses of one cell, nats a character, at optimizer steps."""

    step: np.ndarray
    loss: np.ndarray

    @property
    def best(self) -> tuple[int, float]:
        """Step and loss of the best validation."""
        k = int(np.argmin(self.loss))
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

    def curves(self) -> dict[int, Curve]:
        """Validation curves by seed, without the values that are not finite."""
        found = {}
        for seed, data in self.cells.items():
            if "val_loss" not in data:
                continue
            loss = data["val_loss"].values
            finite = np.isfinite(loss)
            if finite.any():
                found[seed] = Curve(data["validation"].values[finite], loss[finite])
        return found

    def at(self, checkpoint: int) -> dict[int, xr.Dataset]:
        """By seed, the cells that were measured at this training step."""
        return {s: d for s, d in self.cells.items() if checkpoint in _checkpoints(d)}

    def summaries(self, checkpoint: int) -> list[dict[str, float]]:
        """Scalars of the paths at this step, one a seed, their null models' as `null_` names."""
        rows = []
        for data in self.at(checkpoint).values():
            row = summarise(data, checkpoint)
            now = data.sel(checkpoint=checkpoint)
            for name in (str(n) for n in data.data_vars):
                if name.startswith("null_"):
                    row[name] = float(now[name])
            rows.append(row)
        return rows

    def profile(self, name: str, checkpoint: int) -> np.ndarray | None:
        """Mean of a quantity over tokens and seeds, for every sub-update; NaN where undefined."""
        rows = []
        for data in self.at(checkpoint).values():
            if name not in data:
                continue
            values = data[name].sel(checkpoint=checkpoint).values.astype(np.float64)
            rows.append(mean_defined(values))
        return mean_defined(np.stack(rows, -1)) if rows else None


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
            found.append(Variant(index, row.variant, cells, row.checkpoint, diverged, left_out))
    return found


def left_out(variants: Sequence[Variant]) -> str:
    """How many measured cells the figures do not use, for a title; empty where they use all."""
    count = sum(variant.left_out for variant in variants)
    return f" (without {count} diverged or unfinished cell{'s' * (count > 1)})" if count else ""


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


def mean_defined(values: np.ndarray) -> np.ndarray:
    """Mean over the last axis of the values that are not NaN; NaN where none is."""
    defined = ~np.isnan(values)
    count = defined.sum(-1)
    total = np.where(defined, values, 0.0).sum(-1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _checkpoints(data: xr.Dataset) -> list[int]:
    return [int(c) for c in data["checkpoint"].values] if "checkpoint" in data.coords else []
