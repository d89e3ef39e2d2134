"""The dataset of one imported cell: means over tokens, and nothing that the files do not hold."""

from typing import Any

import numpy as np
import xarray as xr

from velocity_ledger.exchange._collect import Cell, Collected, Key
from velocity_ledger.exchange._layout import DEPTH, PUBLISHED
from velocity_ledger.telemetry import path_dataset

_ABOUT = {
    "train_loss": {"units": "nat", "long_name": "training loss a token, dropout on"},
    "val_loss": {"units": "nat", "long_name": "validation loss a token, dropout off"},
    "step": {"units": "1", "long_name": "optimizer steps done"},
    "validation": {"units": "1", "long_name": "optimizer steps done at a validation"},
}
# Names of the two arrays, and of the dimension and the variable that they make.
_CURVES = (
    ("train_steps", "train_loss", "step"),
    ("val_steps", "val_loss", "validation"),
)


def turns_in_radians(found: Collected) -> bool:
    """Whether turning angles are radians, which is so where none exceeds pi; notes which it is."""
    turns = [v for c in found.cells.values() for (_, what), v in c.depth.items() if what == "turn"]
    finite = np.concatenate([t[np.isfinite(t)] for t in turns]) if turns else np.zeros(0)
    if not finite.size:
        return False
    radians = bool(finite.max() <= np.pi)
    most = f"{finite.max():.4g}"
    if radians:
        found.note(f"turn is taken in radians: its largest value is {most}, none exceeds pi")
    else:
        found.note(f"turn is taken in degrees: its largest value is {most}")
    return radians


def checkpoint_steps(found: Collected) -> list[int | None]:
    """The training step of every checkpoint by index; None for one that cannot be used."""
    values: Any = found.checkpoints
    if values is None:
        values = found.said.fields.get("checkpoints")
        if values is not None:
            found.note("the steps of the checkpoints are those of config, there is no ckpt_steps")
    if values is None:
        return []
    steps: list[int | None] = []
    for value in values:
        good = np.isfinite(value) and value >= 0 and value == int(value)
        step = int(value) if good else None
        if step is None or step in steps:
            found.contradictions.append(f"ckpt_steps has {value:g}, left out")
            step = None
        steps.append(step)
    return steps


def dataset(
    key: Key, cell: Cell, steps: list[int | None], radians: bool, found: Collected
) -> xr.Dataset | None:
    """The measurements of a cell; None where there are none."""
    name = f"{found.spelled[key[0]]}_s{key[1]}"
    data = path_dataset(_paths(key[0], name, cell, steps, radians, found), windows=1)
    if "token" in data.dims:
        data = data.isel(token=0).drop_vars(["window", "position"])
    for along, what, dim in _CURVES:
        curve = _curve(name, cell, along, what, found)
        if curve is not None:
            data = data.assign_coords({dim: (dim, curve[0], _ABOUT[dim])})
            data[what] = (dim, curve[1], _ABOUT[what])
    data.attrs = {"variant": key[0], "seed": key[1]}
    return data if data.data_vars else None


def _curve(
    name: str, cell: Cell, along: str, what: str, found: Collected
) -> tuple[np.ndarray, np.ndarray] | None:
    """Steps, rising and each once, and the losses there."""
    steps, losses = cell.curves.get(along), cell.curves.get(what)
    if losses is None or not losses.size:
        if steps is not None and steps.size:
            found.strange(f"{name}/{along}", steps, f"no {what} beside it")
        return None
    if steps is None or steps.shape != losses.shape:
        why = f"{along} is missing" if steps is None else f"{along} has {steps.size} entries"
        found.contradictions.append(f"{name}/{what} has {losses.size} entries, {why}: left out")
        return None
    good = np.isfinite(steps) & (steps >= 0) & (steps < 2**53)
    good &= np.where(good, steps, 0) == np.floor(np.where(good, steps, 0))
    if not good.all():
        found.contradictions.append(f"{name}/{along} has {int((~good).sum())} entries that are no "
                                    "steps: left out")  # fmt: skip
    whole, first = np.unique(steps[good].astype(np.int64), return_index=True)
    if whole.size < good.sum():
        found.contradictions.append(f"{name}/{along} repeats steps: the first of each counts")
    return (whole, losses[good][first]) if whole.size else None


def _paths(
    text: str, name: str, cell: Cell, steps: list[int | None], radians: bool, found: Collected
) -> dict[int, dict[str, np.ndarray]]:
    """By training step, quantities as [sub-updates, 1] or [1]; the same ones at every step."""
    n = _sub_updates(text, name, cell, found)
    rows: dict[int, dict[str, np.ndarray]] = {}
    for (index, what), values in sorted(cell.depth.items()):
        step = steps[index] if index < len(steps) else None
        label = f"{name}/ck{index}_{what}"
        fitted = None if step is None or n is None else _fit(what, values, n, found)
        if step is None:
            found.strange(label, values, "the step of its checkpoint is not known")
        elif fitted is None:
            found.strange(label, values, f"{values.size} entries for {n} sub-updates")
        else:
            if what == "turn" and radians:
                fitted["turning_angle"] = np.degrees(fitted["turning_angle"])
            rows.setdefault(step, {}).update(fitted)
    shapes = {q: v.shape for row in rows.values() for q, v in row.items()}
    return {
        step: {q: row.get(q, np.full(shape, np.nan)) for q, shape in shapes.items()}
        for step, row in rows.items()
    }


def _sub_updates(text: str, name: str, cell: Cell, found: Collected) -> int | None:
    """How many sub-updates the arrays have, by the most telling that there is."""
    layers = found.said.fields.get("model.layers")
    # The published variants take two a layer; another may split its layers otherwise.
    published = text.partition("(")[0] in PUBLISHED.values()
    said = 2 * layers if layers and published else None
    sizes: dict[str, list[int]] = {what: [] for what in DEPTH}
    for (_, what), values in cell.depth.items():
        sizes[what].append(values.size)
    n = None
    for what, more in (("seglen", 0), ("rawstep", 0), ("vnorm", 0), ("turn", 1), ("xnorm", -1)):
        if n is None and sizes[what]:
            common = max(sorted(set(sizes[what])), key=sizes[what].count)
            # Turns and norms alone leave one entry more or less open: the configuration tells.
            n = common + more
            if said is not None and what in ("turn", "xnorm", "vnorm") and abs(n - said) <= 1:
                n = said
    if n is not None and said is not None and n != said:
        found.contradictions.append(f"{name} has {n} sub-updates, config says {layers} layers")
    return n if n is None or n > 0 else None


def _fit(what: str, values: np.ndarray, n: int, found: Collected) -> dict[str, np.ndarray] | None:
    """Values at sub-updates 1..n; None where their number does not allow it."""
    more = values.size - n
    quantity = DEPTH[what]
    if what == "turn":
        if more == -1:
            values = np.concatenate([[np.nan], values])
        elif more == -2:
            found.note("turn has two entries fewer than sub-updates: taken as the last ones")
            values = np.concatenate([[np.nan, np.nan], values])
        elif more == 0 and np.isnan(values[-1]) and not np.isnan(values[0]):
            values = np.concatenate([[np.nan], values[:-1]])
        elif more == 0 and not np.isnan(values[0]):
            found.note("turn has an entry for the first sub-update too: taken as it is")
        elif more != 0:
            return None
    elif what == "xnorm" and more == 1:
        return {"initial_norm": values[:1], quantity: values[1:, None]}
    elif what == "xnorm" and more == 0:
        found.note("xnorm has as many entries as sub-updates: taken as |x_1|, ..., |x_n|")
    elif what == "vnorm" and more == 1:
        found.note("vnorm has one entry more than sub-updates: the first is taken as |v_0|")
        values = values[1:]
    elif more:
        return None
    return {quantity: values[:, None]}
