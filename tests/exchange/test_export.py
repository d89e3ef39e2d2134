"""What goes out, what it loses, and what of it comes in again."""

import dataclasses as dc
import json
import math

import numpy as np
import pytest

from velocity_ledger.errors import UserError
from velocity_ledger.exchange import export_published, import_published
from velocity_ledger.experiment import CellRecord, mean_over_tokens, open_bundle
from velocity_ledger.experiment._cells import NAME, cell_folder, read_cell, write_cell
from velocity_ledger.experiment._config import PRESETS

WRITTEN = {
    "stream_norm", "initial_norm", "step_length", "turning_angle", "velocity_norm", "train_loss",
    "val_loss",
}  # fmt: skip


@pytest.fixture
def run(synthetic):
    return synthetic()


def npz(written):
    with np.load(written.files[0]) as archive:
        return dict(archive)


def test_arrays_have_the_published_shapes_and_are_means_over_tokens(run, tmp_path):
    found = npz(export_published(run, tmp_path / "out"))
    data = open_bundle(run).datasets["ledger", 1].astype(np.float64)
    assert found["ckpt_steps"].tolist() == [0, 2, 10, 20]
    cell = {k.partition("/")[2]: v for k, v in found.items() if k.startswith("ledger_s1/")}
    assert cell["train_steps"].tolist() == list(range(1, 21))
    np.testing.assert_array_equal(cell["val_loss"], data["val_loss"])
    at = data.sel(checkpoint=10)
    np.testing.assert_allclose(cell["ck2_seglen"], at["step_length"].mean("token"), rtol=1e-12)
    np.testing.assert_allclose(cell["ck2_turn"], at["turning_angle"][1:].mean("token"), rtol=1e-12)
    norms = [at["initial_norm"].mean(), *at["stream_norm"].mean("token")]
    np.testing.assert_allclose(cell["ck2_xnorm"], norms, rtol=1e-12)
    np.testing.assert_allclose(cell["ck2_vnorm"], at["velocity_norm"].mean("token"), rtol=1e-12)
    assert "plain_s0/ck0_vnorm" not in found


def test_rawstep_is_written_where_it_is_another_number(run, tmp_path):
    path = cell_folder(run, "ledger", 0) / NAME
    data = read_cell(path)
    write_cell(path, data.assign(raw_step=2 * data["raw_step"]))
    written = export_published(run, tmp_path / "out")
    names = {k for k in npz(written) if "rawstep" in k}
    assert names == {f"ledger_s0/ck{i}_rawstep" for i in range(4)}
    # ledger/1 still repeats its own.
    assert "rawstep of plain, ledger, which is seglen but for rounding" in written.lost


def test_the_json_says_what_the_records_say(run, tmp_path):
    written = export_published(run, tmp_path / "out")
    record = json.loads(written.files[1].read_text("utf-8"))
    assert record["runs"]["ledger_s1"] == {
        "best_val_loss": 3.06,
        "best_step": 20,
        "best_bpc": pytest.approx(3.06 / math.log(2)),
        "final_val_loss": 3.06,
        "params": 1000,
        "wall_s": 3.0,
    }
    assert record["comparison"]["plain"]["best_val_mean"] == pytest.approx(2.55)
    assert record["comparison"]["plain"]["best_val_std"] == pytest.approx(0.5)
    assert record["config"]["layers"] == 2 and record["config"]["steps"] == 20
    assert record["config"]["variants"] == {"plain": "plain", "ledger": "ledger"}
    # Nobody says what it is.
    assert "blowup_ratio" not in record["runs"]["ledger_s1"]


def lost_of(run, back) -> set[str]:
    """Variables of any cell that the import of its export lacks."""
    gone = set()
    for key, data in open_bundle(run).datasets.items():
        other = back.datasets[key]
        gone |= {str(n) for n in data.variables} - {str(n) for n in other.variables}
    return gone


def test_what_the_layout_holds_comes_back(run, tmp_path):
    written = export_published(run, tmp_path / "out")
    assert import_published(written.files, tmp_path / "in").not_understood == []
    back, bundle = open_bundle(tmp_path / "in"), open_bundle(run)
    for (variant, seed), data in bundle.datasets.items():
        other = back.datasets[variant, seed]
        for name in sorted(WRITTEN & set(data.data_vars)):
            expected = data[name] if name.endswith("_loss") else mean_over_tokens(data[name])
            np.testing.assert_allclose(other[name], expected, rtol=1e-12, err_msg=name)
        for name in ("step", "validation", "checkpoint", "sub_update"):
            np.testing.assert_array_equal(other[name], data[name])
    kept = ("variant", "slug", "seed", "state", "step", "best_val", "best_step")
    for cell, other in zip(sorted(bundle.cells, key=_key), sorted(back.cells, key=_key),
                           strict=True):  # fmt: skip
        assert {k: getattr(other, k) for k in kept} == {k: getattr(cell, k) for k in kept}
        assert cell.compile_s is not None and cell.train_s is not None
        assert other.train_s == cell.compile_s + cell.train_s
    assert back.manifest["configuration"].items() <= bundle.manifest["configuration"].items()
    assert back.manifest["corpus"] == bundle.manifest["corpus"]
    assert back.manifest["vocabulary"] == bundle.manifest["vocabulary"]
    parameters = [v["parameters"] for v in back.variants]
    assert parameters == [v["parameters"] for v in bundle.variants]


def _key(cell: CellRecord):
    return cell.variant, cell.seed


def test_what_is_lost_is_said_and_nothing_else(run, tmp_path):
    written = export_published(run, tmp_path / "out")
    import_published(written.files, tmp_path / "in")
    text = "\n".join(written.lost)
    gone = lost_of(run, open_bundle(tmp_path / "in"))
    assert gone == {
        "increment", "angular_step", "path_length", "chord", "straightness", "path_over_norm",
        "angular_path", "zero_steps", "null_path_length", "null_turning_angle",
        "null_straightness", "null_path_over_norm", "raw_step", "window", "position",
    }  # fmt: skip
    for name in gone - {"window", "position", "raw_step"}:
        assert name.removeprefix("null_") in text
    assert written.lost == [
        "of 6 values a token only the mean is written: initial_norm, step_length, stream_norm, "
        "turning_angle, velocity_norm",
        "measured, not written: angular_path, angular_step, chord, increment, path_length, "
        "path_over_norm, straightness, zero_steps",
        "null models: path_length, path_over_norm, straightness, turning_angle",
        "rawstep of plain, ledger, which is seglen but for rounding",
        "of each cell: state, reason, tokens_per_second",
        "compile_s and train_s, of which wall_s is the sum",
        "of each variant: integrator_parameters",
        "of the manifest: created",
    ]


def test_files_beside_the_measurements_are_said_to_be_lost(run, tmp_path):
    folder = cell_folder(run, "plain", 0)
    (folder / "best.safetensors").write_bytes(b"")
    (folder / "checkpoint" / "step_00000020").mkdir(parents=True)
    (folder / "checkpoint" / "step_00000020" / "arrays").write_bytes(b"")
    (run / "figures").mkdir()
    (run / "figures" / "a.png").write_bytes(b"")
    written = export_published(run, tmp_path / "out")
    assert written.lost[-1] == "files: best.safetensors, checkpoint"


def test_an_import_loses_nothing_by_going_out_again(run, tmp_path):
    first = export_published(run, tmp_path / "one")
    import_published(first.files, tmp_path / "in")
    second = export_published(tmp_path / "in", tmp_path / "two")
    a, b = npz(first), npz(second)
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])
    # Equal but for numbers that were means once and are means again.
    assert not any("token" in line or "measured" in line for line in second.lost)


def test_variants_beside_the_four_go_by_their_folder_and_come_back(synthetic, tmp_path):
    config = dc.replace(
        PRESETS["smoke"], variants=("plain", "ledger(mu=0.5)", "./mine.py:Mine(h=0.3)"),
        seeds=(4,),
    )  # fmt: skip
    run = synthetic(config=config)
    written = export_published(run, tmp_path / "out")
    names = {name.partition("/")[0] for name in npz(written)} - {"ckpt_steps"}
    assert names == {"plain_s4", "ledger-mu=0.5_s4", "mine.py-Mine-h=0.3_s4"}
    back = open_bundle(import_published(written.files, tmp_path / "in").path)
    assert [v["text"] for v in back.variants] == list(config.variants)
    assert set(back.datasets) == {(text, 4) for text in config.variants}


def test_cells_may_have_other_checkpoints(synthetic, tmp_path):
    run = synthetic(states=lambda v, s: "interrupted" if v == "ledger" else "finished")
    written = export_published(run, tmp_path / "out")
    found = npz(written)
    assert found["ckpt_steps"].tolist() == [0, 2, 10, 20]
    assert "ledger_s0/ck2_seglen" in found and "ledger_s0/ck3_seglen" not in found
    back = open_bundle(import_published(written.files, tmp_path / "in").path)
    assert back.datasets["ledger", 0]["checkpoint"].values.tolist() == [0, 2, 10]
    states = {c.variant: c.state for c in back.cells}
    assert states == {"plain": "finished", "ledger": "stopped"}


def test_pending_cells_are_said_to_be_missing(synthetic, tmp_path):
    run = synthetic(states=lambda v, s: "pending" if (v, s) == ("ledger", 1) else "finished")
    written = export_published(run, tmp_path / "out")
    assert "cells of which nothing is measured: ledger/1" in written.lost


def test_what_cannot_be_written_is_refused(synthetic, tmp_path):
    with pytest.raises(UserError, match="holds no measurements yet"):
        export_published(synthetic("empty", states=lambda v, s: "pending"), tmp_path / "a")
    assert not (tmp_path / "a").exists()
    run = synthetic("run")
    export_published(run, tmp_path / "out")
    with pytest.raises(UserError, match="exists: choose another"):
        export_published(run, tmp_path / "out")
    two = dc.replace(PRESETS["smoke"], variants=("ngpt-lite", "ngpt_lite"), seeds=(0,))
    with pytest.raises(UserError, match="would both be spelled ngpt_lite"):
        export_published(synthetic("two", config=two), tmp_path / "b")


def test_what_is_not_finite_is_null(synthetic, tmp_path):
    run = synthetic()
    path = cell_folder(run, "plain", 0) / NAME
    data = read_cell(path)
    write_cell(path, data.assign(val_loss=data["val_loss"] * np.nan))
    written = export_published(run, tmp_path / "out")
    record = json.loads(written.files[1].read_text("utf-8"), parse_constant=pytest.fail)
    assert record["runs"]["plain_s0"]["final_val_loss"] is None
    assert np.isnan(npz(written)["plain_s0/val_loss"]).all()
