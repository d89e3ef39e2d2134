"""A bundle opened: tree, padded view, tables; half done too."""

import gc
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from velocity_ledger.errors import UserError
from velocity_ledger.experiment._bundle import mean_over_tokens, open_bundle
from velocity_ledger.experiment._cells import cell_folder, read_cell
from velocity_ledger.experiment._summary import table


def test_tree_has_one_node_a_cell(synthetic):
    bundle = open_bundle(synthetic())
    assert {leaf.path for leaf in bundle.tree.leaves} == {
        "/plain/0", "/plain/1", "/ledger/0", "/ledger/1",
    }  # fmt: skip
    data = bundle.tree["/ledger/1"].to_dataset()
    assert set(data.sizes) == {"step", "validation", "checkpoint", "sub_update", "token"}
    assert data["velocity_norm"].dims == ("checkpoint", "sub_update", "token")
    assert data["null_path_length"].sel(checkpoint=10) == 10.5


def test_every_variable_says_its_units(synthetic):
    bundle = open_bundle(synthetic())
    data = bundle.datasets["ledger", 0]
    for variable in (*data.data_vars.values(), *data.coords.values()):
        assert variable.attrs.get("units"), variable.name
        assert variable.attrs.get("long_name"), variable.name


def test_written_numbers_are_read_back_exactly(synthetic, tmp_path):
    bundle = open_bundle(synthetic())
    data = read_cell(cell_folder(bundle.path, "plain", 1) / "data.nc")
    assert data["train_loss"].dtype == np.float32
    assert data["val_loss"].dtype == np.float64
    assert data["val_loss"].values[-1] == 2.0 + len("plain") / 100 + 1
    assert data["zero_steps"].dtype == np.int32
    assert data.attrs["seed"] == 1


def test_view_pads_variants_of_different_depth(synthetic):
    depth = {"plain": 4, "ledger": 6}
    bundle = open_bundle(synthetic(sub_updates=depth.__getitem__))
    view = bundle.view()
    assert dict(view.sizes) == {
        "variant": 2, "seed": 2, "step": 20, "validation": 3, "checkpoint": 4, "sub_update": 6,
        "token": 6,
    }  # fmt: skip
    assert list(view["variant"].values) == ["plain", "ledger"]
    step = view["step_length"]
    assert step.sel(variant="plain", sub_update=[5, 6]).isnull().all()
    assert step.sel(variant="ledger").notnull().all()
    assert view["velocity_norm"].sel(variant="plain").isnull().all()
    assert step.attrs["units"] == "1"
    for (variant, seed), data in bundle.datasets.items():
        for name in data.data_vars:
            here = view[name].sel(variant=variant, seed=seed)
            if "sub_update" in here.dims:
                here = here.sel(sub_update=data["sub_update"])
            np.testing.assert_array_equal(here.transpose(*data[name].dims), data[name])


def test_half_done_bundle_opens_and_is_viewed(synthetic):
    state = {
        ("plain", 0): "finished", ("ledger", 0): "running", ("plain", 1): "pending",
        ("ledger", 1): "pending",
    }  # fmt: skip
    bundle = open_bundle(synthetic(states=lambda v, s: state[v, s]))
    assert {leaf.path for leaf in bundle.tree.leaves} == {"/plain/0", "/ledger/0"}
    view = bundle.view()
    assert dict(view.sizes)["seed"] == 1
    assert view["train_loss"].sel(variant="ledger", step=slice(11, 20)).isnull().all()
    assert list(bundle.to_dataframe()["state"]) == ["finished", "running", "pending", "pending"]


def test_bundle_without_a_begun_cell(synthetic):
    bundle = open_bundle(synthetic(states=lambda v, s: "pending"))
    assert bundle.datasets == {}
    assert bundle.view().sizes == {"variant": 0, "seed": 0}
    assert len(bundle.to_dataframe()) == 4
    assert len(bundle.to_dataframe("depth")) == 0


@pytest.mark.parametrize(
    ("table", "rows", "columns"),
    [
        ("cells", 4, {"variant", "seed", "state", "best_val", "best_step"}),
        ("validation", 4 * 3, {"variant", "seed", "step", "val_loss"}),
        ("training", 4 * 20, {"variant", "seed", "step", "train_loss"}),
        ("depth", 4 * 4 * 4, {"variant", "seed", "checkpoint", "sub_update", "turning_angle"}),
    ],
)
def test_tables_and_csv(synthetic, tmp_path, table, rows, columns):
    bundle = open_bundle(synthetic())
    frame = bundle.to_dataframe(table)
    assert len(frame) == rows
    assert columns <= set(frame.columns)
    bundle.to_csv(tmp_path / "a.csv", table)
    back = pd.read_csv(tmp_path / "a.csv")
    assert list(back.columns) == list(frame.columns)
    number = "best_val" if table == "cells" else frame.columns[-1]
    # pandas' default reader is not exact in the last bit; float32 columns are written shortest.
    np.testing.assert_allclose(back[number].to_numpy(), frame[number].to_numpy(), rtol=1e-6)


def test_a_table_for_a_folder_that_is_not_there(synthetic, tmp_path):
    with pytest.raises(UserError, match=r"cannot write .*absent"):
        open_bundle(synthetic()).to_csv(tmp_path / "absent" / "a.csv")


def test_unknown_table(synthetic):
    bundle = open_bundle(synthetic())
    with pytest.raises(UserError, match="choose cells, validation"):
        bundle.to_dataframe("odd")


def test_mean_over_tokens_leaves_out_what_is_undefined():
    values = xr.DataArray(
        np.array([[np.nan, np.nan], [1.0, np.nan], [1.0, 3.0]], np.float32),
        dims=("sub_update", "token"), name="a",
    )  # fmt: skip
    mean = mean_over_tokens(values)
    np.testing.assert_array_equal(mean, [np.nan, 1.0, 2.0])
    assert mean.name == "a"


def test_damaged_data_is_one_sentence(synthetic):
    folder = synthetic()
    path = cell_folder(folder, "plain", 0) / "data.nc"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(UserError, match=r"data\.nc is damaged"):
        _ = open_bundle(folder).datasets


def text_of(values):
    return values.dims, np.full(values.shape, "x")


WRONG = {
    "no checkpoint": (lambda d: d.drop_vars("checkpoint"), "checkpoint"),
    "a checkpoint twice": (lambda d: d.assign_coords(checkpoint=0 * d["checkpoint"]), "checkpoint"),
    "steps that are no numbers": (lambda d: d.assign_coords(step=text_of(d["step"])), "step"),
    "steps that are not whole": (lambda d: d.assign_coords(step=d["step"] + 0.5), "step"),
    "no sub-update": (lambda d: d.isel(sub_update=slice(0)), "sub_update"),
    "no token": (lambda d: d.isel(token=slice(0)), "token"),
    "a length of the whole": (lambda d: d.assign(step_length=d["path_length"]), "step_length"),
    "dimensions in another order": (lambda d: d.transpose(), "val_loss|step_length|raw_step"),
    "a loss that is one number": (lambda d: d.assign(val_loss=1.0), "val_loss"),
    "text": (lambda d: d.assign(chord=text_of(d["chord"])), "chord"),
    "a null model of tokens": (lambda d: d.assign(null_chord=d["step_length"]), "null_chord"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_cell_that_is_not_laid_out_as_one_is_damaged(synthetic, wrong):
    change, what = WRONG[wrong]
    folder = synthetic(states=lambda v, s: "finished" if (v, s) == ("plain", 0) else "pending")
    file = folder / "cells" / "plain" / "0" / "data.nc"
    change(read_cell(file)).to_netcdf(file, engine="h5netcdf")
    with pytest.raises(UserError, match=rf"data\.nc is damaged \(({what})\): restore it") as told:
        _ = open_bundle(folder).datasets
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("place", [70, 100, 31_502])
def test_damage_is_told_in_one_line_and_h5netcdf_adds_none(synthetic, place, monkeypatch):
    folder = synthetic(states=lambda v, s: "finished" if (v, s) == ("plain", 0) else "pending")
    file = folder / "cells" / "plain" / "0" / "data.nc"
    content = bytearray(file.read_bytes())
    content[place] ^= 255
    file.write_bytes(content)
    said = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    with pytest.raises(UserError, match=r"data\.nc is damaged: restore it"):
        _ = open_bundle(folder).datasets
    gc.collect()
    assert said == []


def test_means_and_quantities_of_ones_own_are_as_they_should_be(synthetic):
    folder = synthetic()
    file = folder / "cells" / "plain" / "0" / "data.nc"
    data = read_cell(file).mean("token").assign(mine=("axis", [1, 2]))
    data = data.drop_vars(["train_loss", "step", "validation", "val_loss"])
    data.to_netcdf(file, engine="h5netcdf")
    assert set(open_bundle(folder).datasets["plain", 0].data_vars) == set(data.data_vars)


def test_a_text_of_one_character_is_a_text(synthetic):
    folder = synthetic()
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"characters": 1000', '"characters": 1'))
    assert "passes over its text" in table(open_bundle(folder))
