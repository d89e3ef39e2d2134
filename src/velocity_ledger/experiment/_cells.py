"""One cell's measurements as one NetCDF file."""

import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _json
from velocity_ledger.experiment._files import write_aside
from velocity_ledger.training import LEARNED

NAME = "data.nc"
SAMPLE = "sample.json"
_DAMAGED = (OSError, ValueError, KeyError, RuntimeError, TypeError, AttributeError)
_COUNTS = ("step", "validation", "checkpoint", "sub_update")
_ALONG = ("step_length", "raw_step", "increment", "velocity_norm", "stream_norm", "turning_angle",
          "angular_step")  # fmt: skip
_PER_TOKEN = ("initial_norm", "path_length", "chord", "straightness", "path_over_norm",
              "angular_path", "zero_steps")  # fmt: skip
_DIMS = {
    "train_loss": ("step",),
    "val_loss": ("validation",),
    **dict.fromkeys(_ALONG, ("checkpoint", "sub_update")),
    **dict.fromkeys(_PER_TOKEN, ("checkpoint",)),
    **dict.fromkeys(
        ("step_gram", "increment_step_gram"), ("checkpoint", "sub_update", "sub_update_2")
    ),
}
"""Of what is known, the dimensions, but for a last one over tokens."""
NULLS = {
    "path_length": ("1", "path length of the null model"),
    "turning_angle": ("degree", "turning angle of the null model"),
    "straightness": ("1", "straightness of the null model"),
    "path_over_norm": ("1", "path length over final norm of the null model"),
}
"""What the null model says of each checkpoint, stored as `null_` and these names."""


def cell_folder(bundle: pathlib.Path, slug: str, seed: int) -> pathlib.Path:
    """Where a cell lies in a bundle."""
    return bundle / "cells" / slug / str(seed)


def cell_dataset(
    *,
    train_loss: npt.ArrayLike,
    val_step: npt.ArrayLike,
    val_loss: npt.ArrayLike,
    paths: xr.Dataset,
    nulls: Mapping[int, Mapping[str, float]],
    learned: Mapping[int, Mapping[str, npt.ArrayLike]] | None = None,
    attributes: Mapping[str, Any],
) -> xr.Dataset:
    """Return a cell's dataset over step, validation, checkpoint, sub_update and token.

    `train_loss` is one number a step, in nats a token, dropout on; `val_loss` is taken at the
    steps `val_step`, dropout off; `paths` comes from `path_dataset`; `nulls[checkpoint]` is what
    `null_path` returned for that checkpoint; `learned[checkpoint]` what the integrator had learned
    by then, kept as `learned_` and its name.
    """
    train = np.asarray(train_loss, np.float32)
    steps = np.arange(1, train.size + 1, dtype=np.int64)
    checkpoints = [int(c) for c in paths["checkpoint"].values]
    nats = {"units": "nat"}
    variables: dict[str, Any] = {
        "train_loss": ("step", train, nats | {"long_name": "training loss a token, dropout on"}),
        "val_loss": (
            "validation",
            np.asarray(val_loss, np.float64),
            nats | {"long_name": "validation loss a token, dropout off"},
        ),
    }
    for name, (units, long_name) in NULLS.items():
        values = [nulls.get(c, {}).get(name, np.nan) for c in checkpoints]
        about = {"units": units, "long_name": long_name}
        variables[f"null_{name}"] = ("checkpoint", np.asarray(values, np.float64), about)
    for name in next(iter((learned or {}).values()), {}):
        values = np.stack([np.asarray((learned or {})[c][name]) for c in checkpoints])
        each = values.shape[1:2] == (paths.sizes.get("sub_update"),)
        rest = tuple(f"{name}_{i}" for i in range(values.ndim - (2 if each else 1)))
        dims = ("checkpoint", *(("sub_update",) if each else ()), *rest)
        about = {"units": "1", "long_name": f"the integrator's learned {name}"}
        variables[f"{LEARNED}{name}"] = (dims, values, about)
    coordinates = {
        "step": ("step", steps, {"units": "1", "long_name": "optimizer steps done"}),
        "validation": (
            "validation",
            np.asarray(val_step, np.int64),
            {"units": "1", "long_name": "optimizer steps done at a validation"},
        ),
    }
    data = paths.assign_coords(coordinates).assign(variables)
    data.attrs = {k: _attribute(v) for k, v in attributes.items() if v is not None}
    return data


def write_cell(path: pathlib.Path, dataset: xr.Dataset) -> None:
    """Write a cell's dataset in one step."""
    write_aside(path, lambda aside: dataset.to_netcdf(aside, engine="h5netcdf"))


def read_cell(path: pathlib.Path) -> xr.Dataset:
    """Read a cell's dataset into memory and close its file.

    Raises `UserError` where the file is damaged, or is not laid out as a cell is.
    """
    import h5py

    try:
        with h5py.File(path) as file:
            # Where this fails, h5netcdf would too, and print a traceback of its own at its end.
            file.attrs.get("_nc3_strict")
        data = xr.load_dataset(path, engine="h5netcdf")
    except _DAMAGED as error:
        raise UserError(f"{path} is damaged: restore it, or run the cell again") from error
    wrong = _wrong(data)
    if wrong is not None:
        raise UserError(f"{path} is damaged ({wrong}): restore it, or run the cell again")
    return data


def _wrong(data: xr.Dataset) -> str | None:
    """The first variable or dimension that no cell has; None where all is as it should be."""
    # `get` would make up a coordinate for a dimension without one.
    if "checkpoint" not in data.coords:
        return "checkpoint"
    for name in _COUNTS:
        count = data[name] if name in data.coords else None
        if count is not None and (count.dims != (name,) or count.dtype.kind not in "iu"):
            return name
    if len(np.unique(data["checkpoint"].values)) != data.sizes["checkpoint"]:
        return "checkpoint"
    for name in ("sub_update", "token"):
        if data.sizes.get(name) == 0:
            return name
    for variable in data.data_vars.values():
        name = str(variable.name)
        known = ("checkpoint",) if name.startswith("null_") else _DIMS.get(name, variable.dims)
        # An imported cell has means over tokens.
        if variable.dims not in (known, (*known, "token")) or variable.dtype.kind not in "iuf":
            return name
    return None


def read_sample(folder: pathlib.Path) -> dict[str, Any] | None:
    """Read a cell's sample; None where there is none, or it is damaged: it is no measurement."""
    try:
        record = _json.loads((folder / SAMPLE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    whole = isinstance(record, dict) and isinstance(record.get("text"), str)
    return record if whole else None


def _attribute(value: Any) -> Any:
    """NetCDF knows texts and numbers; the rest is kept as JSON."""
    if isinstance(value, bool):
        return int(value)  # h5netcdf refuses booleans
    if isinstance(value, (str, int, float, np.integer, np.floating)):
        return value
    return _json.dumps(value, indent=None)
