"""Measurements of one run as a labelled dataset."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from velocity_ledger.errors import UserError

# name: (units, long name). Lengths are in units of the residual stream, which has none.
QUANTITIES = {
    "step_length": ("1", "step length |x_k - x_(k-1)|"),
    "raw_step": ("1", "length of the step before the geometry acts"),
    "increment": ("1", "field's increment |f_k|"),
    "velocity_norm": ("1", "velocity norm |v_k|"),
    "stream_norm": ("1", "residual stream norm |x_k| after the sub-update"),
    "turning_angle": ("degree", "turning angle between step k-1 and step k"),
    "angular_step": ("degree", "angle between x_(k-1) and x_k"),
    "initial_norm": ("1", "residual stream norm |x_0| before the first sub-update"),
    "path_length": ("1", "path length, the sum of the step lengths"),
    "chord": ("1", "chord |x_n - x_0|"),
    "straightness": ("1", "straightness, chord over path length"),
    "path_over_norm": ("1", "path length over final norm |x_n|"),
    "angular_path": ("degree", "angular path, the sum of the angular steps"),
    "zero_steps": ("1", "sub-updates whose step is exactly zero"),
    "step_gram": ("1", "mean over tokens of <d_j, d_k>, d_k = x_k - x_(k-1)"),
    "increment_step_gram": ("1", "mean over tokens of <f_j, d_k>, f_j the field's increment"),
}
GRAMS = ("step_gram", "increment_step_gram")
"""Quantities over pairs of sub-updates, without tokens."""


def path_dataset(
    measurements: Mapping[int, Mapping[str, np.ndarray]], *, windows: int
) -> xr.Dataset:
    """Measurements by training step, as one dataset over checkpoint, sub_update and token.

    `measurements[step][name]` is [sub-updates, tokens] or [tokens], window after window, as
    `measure` returns it; the Gram matrices are [sub-updates, sub-updates], their second dimension
    `sub_update_2`. Coordinates: `checkpoint` is the training step, `sub_update` counts from 1, and
    every token carries its `window` and its `position` in it. Each variable has `units` and
    `long_name`. A quantity that was not measured is no variable. `zero_steps` is an integer count,
    and an undefined turning angle is NaN.

    Raises `UserError` where the measurements do not hold the same quantities in the same shapes,
    or the tokens do not fill the windows.
    """
    steps = sorted(measurements)
    checkpoint = xr.Variable(
        "checkpoint", np.asarray(steps, np.int64), {"long_name": "training step", "units": "1"}
    )
    if not steps:
        return xr.Dataset(coords={"checkpoint": checkpoint})
    first = measurements[steps[0]]
    shapes = {name: np.shape(value) for name, value in first.items()}
    for step in steps:
        if {name: np.shape(value) for name, value in measurements[step].items()} != shapes:
            raise UserError(
                f"steps {steps[0]} and {step} were not measured alike: give one dataset "
                "measurements of one model on one probe batch"
            )
    along = {name: shape for name, shape in shapes.items() if name not in GRAMS}
    grams = [shape for name, shape in shapes.items() if name in GRAMS]
    sizes = {shape[-1] for shape in along.values() if shape}
    tokens = sizes.pop() if len(sizes) == 1 else 0
    depths = {shape[0] for shape in along.values() if len(shape) == 2} | {
        n for g in grams for n in g
    }
    flat = all(len(shape) in (1, 2) for shape in along.values())
    flat &= all(len(shape) == 2 for shape in grams)
    if not (flat and len(depths) <= 1 and tokens and windows > 0 and tokens % windows == 0):
        raise UserError(
            f"measurements must be [sub-updates, tokens] or [tokens] with tokens a multiple of "
            f"{windows} windows, and Gram matrices [sub-updates, sub-updates], got {shapes}"
        )
    window, position = np.divmod(np.arange(tokens), tokens // windows)
    coordinates = {
        "checkpoint": checkpoint,
        "window": ("token", window, {"long_name": "probe window", "units": "1"}),
        "position": ("token", position, {"long_name": "position in the window", "units": "1"}),
    }
    if depths:
        count = np.arange(1, depths.pop() + 1)
        about = {"long_name": "sub-update of the residual stream", "units": "1"}
        coordinates["sub_update"] = ("sub_update", count, about)
        if grams:
            coordinates["sub_update_2"] = ("sub_update_2", count, about)
    variables = {}
    for name, shape in shapes.items():
        values = np.stack([np.asarray(measurements[step][name]) for step in steps])
        if name == "zero_steps":
            values = values.astype(np.int32)
        last = "sub_update_2" if name in GRAMS else "token"
        dims = ("checkpoint", *(("sub_update", last) if len(shape) == 2 else (last,)))
        units = dict(zip(("units", "long_name"), QUANTITIES.get(name, ()), strict=False))
        variables[name] = (dims, values, units)
    return xr.Dataset(variables, coords=coordinates)
