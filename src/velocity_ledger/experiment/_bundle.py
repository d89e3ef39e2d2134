"""A run on disk, opened: its manifest, its cells as a tree, a padded view, tables."""

import dataclasses as dc
import functools
import os
import pathlib
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from velocity_ledger.errors import UserError
from velocity_ledger.experiment._cells import NAME, cell_folder, read_cell, read_sample
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._manifest import (
    CellRecord,
    cell_records,
    config_from_dict,
    is_imported,
    read_manifest,
)
from velocity_ledger.training import LEARNED


@dc.dataclass(frozen=True)
class Bundle:
    """A run's folder as it was when opened; a run still going on can be opened at any moment."""

    path: pathlib.Path
    manifest: dict[str, Any]

    @functools.cached_property
    def config(self) -> ExperimentConfig | None:
        """The configuration of the run, as it was given; None for an imported bundle.

        What the imported files said of it is `manifest["configuration"]`, and may be nothing.
        """
        if is_imported(self.manifest):
            return None
        return config_from_dict(self.manifest["configuration"])

    @functools.cached_property
    def cells(self) -> list[CellRecord]:
        """Every cell of the grid and how far it is."""
        return cell_records(self.manifest, self.path)

    @property
    def variants(self) -> list[dict[str, Any]]:
        """What the manifest says of each variant; the first is the reference."""
        return self.manifest["variants"]

    @functools.cached_property
    def datasets(self) -> dict[tuple[str, int], xr.Dataset]:
        """Measurements by (variant text, seed), for the cells that have any."""
        found = {}
        for cell in self.cells:
            file = cell_folder(self.path, cell.slug, cell.seed) / NAME
            if file.is_file():
                found[cell.variant, cell.seed] = read_cell(file)
        return found

    @functools.cached_property
    def samples(self) -> dict[tuple[str, int], dict[str, Any]]:
        """Text by (variant text, seed), for the cells that wrote any: a dict of text and prompt.

        Beside these, as far as known: temperature, top_k, seed, and the step of the weights.
        """
        # It brings JAX, which nothing else needs that reads a bundle.

        found = {}
        for cell in self.cells:
            sample = read_sample(cell_folder(self.path, cell.slug, cell.seed))
            if sample is not None:
                found[cell.variant, cell.seed] = sample
        return found

    @functools.cached_property
    def tree(self) -> xr.DataTree:
        """The measurements as a tree, `/variant/seed`; variants go by their folder names."""
        slugs = {cell.variant: cell.slug for cell in self.cells}
        nodes = {f"/{slugs[v]}/{seed}": data for (v, seed), data in self.datasets.items()}
        return xr.DataTree.from_dict(nodes, name=self.path.name)

    def view(self) -> xr.Dataset:
        """Return all measurements in one dataset over variant and seed, padded with NaN.

        Variants may differ in the number of sub-updates, runs in the number of steps.
        """
        variants = list(dict.fromkeys(v for v, _ in self.datasets))
        if not variants:
            return xr.Dataset(coords={"variant": np.array([], str), "seed": np.array([], int)})
        rows = []
        for variant in variants:
            row = {s: data for (v, s), data in self.datasets.items() if v == variant}
            rows.append(_joined(list(row.values()), pd.Index(row, name="seed")))
        whole = _joined(rows, pd.Index(variants, name="variant"))
        whole.attrs = {"config": next(iter(self.datasets.values())).attrs.get("config", "")}
        return whole

    def to_dataframe(self, table: str = "cells") -> pd.DataFrame:
        """Return a tidy table.

        `cells` has one row a cell, `validation` and `training` one a loss, `depth` one a
        sub-update of a checkpoint, its quantities averaged over the tokens where they are defined.
        Raises `UserError` for another name.
        """
        if table == "cells":
            names = [field.name for field in dc.fields(CellRecord)]
            return pd.DataFrame([dc.asdict(cell) for cell in self.cells], columns=names)
        if table not in _FRAMES:
            raise UserError(f"no table {table!r}: choose cells, {', '.join(_FRAMES)}")
        frames = []
        for (variant, seed), data in self.datasets.items():
            frame = _FRAMES[table](data)
            frame.insert(0, "variant", variant)
            frame.insert(1, "seed", seed)
            frames.append(frame)
        if not frames:
            return pd.DataFrame(columns=["variant", "seed"])
        # An empty frame would have a say in the columns' types.
        return pd.concat([f for f in frames if len(f)] or frames[:1], ignore_index=True)

    def to_csv(self, path: str | os.PathLike[str], table: str = "cells") -> None:
        """Write `to_dataframe(table)` as CSV.

        Raises `UserError` for another name and a `path` that cannot be written.
        """
        frame = self.to_dataframe(table)
        try:
            frame.to_csv(path, index=False)
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror or error}") from error


def open_bundle(path: str | os.PathLike[str]) -> Bundle:
    """Open the folder of a run, finished or not.

    Raises `UserError` where it is no bundle, is damaged, or a newer version wrote it.
    """
    folder = pathlib.Path(path)
    return Bundle(folder, read_manifest(folder))


def _joined(parts: list[xr.Dataset], index: pd.Index) -> xr.Dataset:
    return xr.concat(
        [part.drop_attrs(deep=False) for part in parts],
        index,
        data_vars="all",
        coords="minimal",
        compat="override",
        join="outer",
    )


def _validation(data: xr.Dataset) -> pd.DataFrame:
    return _losses(data, "validation", "val_loss")


def _training(data: xr.Dataset) -> pd.DataFrame:
    return _losses(data, "step", "train_loss")


def _losses(data: xr.Dataset, along: str, name: str) -> pd.DataFrame:
    # An imported cell may lack either.
    if name not in data:
        return pd.DataFrame(columns=["step", name])
    return pd.DataFrame({"step": data[along].values, name: data[name].values})


def _depth(data: xr.Dataset) -> pd.DataFrame:
    along = [
        v
        for v in data.data_vars.values()
        if set(v.dims) - {"token"} == {"checkpoint", "sub_update"}
        and not str(v.name).startswith(LEARNED)
    ]
    quantities = {str(v.name): mean_over_tokens(v) for v in along}
    if not quantities:
        return pd.DataFrame(columns=["checkpoint", "sub_update"])
    dims = ["checkpoint", "sub_update"]
    return xr.Dataset(quantities).to_dataframe(dim_order=dims).reset_index()


def mean_over_tokens(values: xr.DataArray) -> xr.DataArray:
    """Mean over the tokens where `values` is defined, in float64; NaN where it nowhere is.

    Means already, as in an imported cell, stay what they are.
    """
    if "token" not in values.dims:
        return values.astype(np.float64)
    defined = values.notnull()
    count = defined.sum("token")
    total = values.astype(np.float64).where(defined, 0.0).sum("token")
    return (total / count.where(count > 0)).rename(values.name)


_FRAMES = {"validation": _validation, "training": _training, "depth": _depth}
