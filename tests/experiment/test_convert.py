"""A trained cell goes on under another integrator, in a bundle of its own."""

import dataclasses as dc
import hashlib
import json
import pathlib
import shutil
from typing import Any

import numpy as np
import pytest
import xarray as xr

from small_run import LETTERS, MODEL, SIZES
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import (
    ExperimentConfig,
    convert_cell,
    converted,
    load_cell,
    open_bundle,
    run_experiment,
)
from velocity_ledger.experiment._cells import cell_folder, read_cell
from velocity_ledger.experiment._continued import continued
from velocity_ledger.experiment._weights import read_weights
from velocity_ledger.report import render
from velocity_ledger.training import SilentProgress, TrainingConfig, evaluate, validation_batches

TRAINING = TrainingConfig(
    steps=6, warmup=1, val_every=2, checkpoint_every=2, telemetry_at=(0.0, 0.5, 1.0), **SIZES
)
QUIET: dict[str, Any] = {"progress": lambda label: SilentProgress(), "notify": lambda text: None}
TO, WHERE = "ledger(mu=0.8)", "ledger-mu=0.8"


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    path.write_text("".join(np.random.default_rng(0).choice(list(LETTERS), 2000)))
    return path


@pytest.fixture(scope="module")
def plain(text, tmp_path_factory) -> pathlib.Path:
    """A run with a trained plain cell."""
    out = tmp_path_factory.mktemp("plain") / "run"
    training = dc.replace(TRAINING, telemetry_at=())
    config = ExperimentConfig(MODEL, training, ("plain",), (3,), str(text), sample=0)
    assert run_experiment(config, out, **QUIET) == 0
    return out


def rise(plain: pathlib.Path, out: pathlib.Path, **given: Any) -> int:
    options: dict[str, Any] = {"training": TRAINING, "over": 4, "sample": 0, **QUIET, **given}
    return convert_cell(plain, "plain/3", TO, out, **options)


@pytest.fixture(scope="module")
def risen(plain, tmp_path_factory) -> pathlib.Path:
    """The conversion that nothing interrupted."""
    out = tmp_path_factory.mktemp("risen") / "run"
    assert rise(plain, out) == 0
    return out


def loss_of(run: pathlib.Path, cell: str, text: pathlib.Path) -> float:
    characters = sorted(set(text.read_text()))
    ids = np.array([characters.index(c) for c in text.read_text()], np.int32)
    batches = validation_batches(ids[len(ids) * 9 // 10 :], TRAINING, MODEL.context)
    return evaluate(load_cell(run, cell), batches)


def test_the_start_is_the_trained_cell_and_the_best_is_the_target_s(plain, risen, text):
    (source,), (cell,) = open_bundle(plain).cells, open_bundle(risen).cells
    data = read_cell(cell_folder(risen, cell.slug, 3) / "data.nc")
    assert (cell.variant, cell.slug, cell.seed, cell.state) == (TO, WHERE, 3, "finished")
    assert list(data["validation"].values) == [0, 2, 4, 6]
    assert float(data["val_loss"][0]) == source.best_val
    assert cell.best_step in (4, 6)
    assert cell.best_val == float(data["val_loss"][2:].min())
    assert cell.best_val == pytest.approx(loss_of(risen, f"{TO}/3", text), abs=1e-6)
    assert str(load_cell(risen, "ledger(mu=.80)/3").integrator) == TO


def test_the_manifest_says_where_it_comes_from(plain, risen):
    (source,) = open_bundle(plain).cells
    weights = cell_folder(plain, "plain", 3) / "best.safetensors"
    record = open_bundle(risen).manifest["converted_from"]
    assert record == {
        "bundle": str(plain.resolve()),
        "cell": "plain/3",
        "seed": 3,
        "integrator": "plain",
        "step": source.best_step,
        "best_val": source.best_val,
        "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
        "schedule": {"start": "ledger(mu=0.0)", "end": TO, "steps": 4, "shape": "linear"},
    }
    start = read_weights(cell_folder(risen, WHERE, 3) / "start.safetensors")[0]
    first = read_weights(weights)[0]
    assert all(np.array_equal(start[name], w) for name, w in first.items())
    assert "at step 4" in converted(open_bundle(risen))
    with pytest.raises(UserError, match="not made by convert"):
        converted(open_bundle(plain))


def test_the_null_model_is_that_of_the_step(risen):
    data = read_cell(cell_folder(risen, WHERE, 3) / "data.nc")
    null = data["null_path_length"]
    assert list(data["checkpoint"].values) == [0, 3, 6]
    for checkpoint, mu in ((0, 0.0), (3, 0.6), (6, 0.8)):
        f = data["increment"].sel(checkpoint=checkpoint).astype(float).mean("token").values
        # v1 = (1 - mu) f1, v2 = mu v1 + (1 - mu) f2 with f1, f2 orthogonal.
        path = (1 - mu) * (f[0] + np.hypot(mu * f[0], f[1]))
        assert float(null.sel(checkpoint=checkpoint)) == pytest.approx(path, rel=1e-5)


def test_the_log_tells_the_number(risen):
    lines = (cell_folder(risen, WHERE, 3) / "log.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in lines if "val_loss" in line]
    assert [line["momentum.mu"] for line in told] == pytest.approx([0.0, 0.4, 0.8, 0.8])


def test_a_resumed_conversion_is_the_conversion(plain, risen, tmp_path):
    """Its run may be gone by then."""
    source, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(plain, source)
    assert rise(source, out, stop_after=3) == 0
    shutil.rmtree(source)
    assert rise(source, out, resume=True) == 0
    (first,), (second,) = open_bundle(risen).cells, open_bundle(out).cells
    whole, again = (cell_folder(run, WHERE, 3) for run in (risen, out))
    one, two = read_cell(whole / "data.nc"), read_cell(again / "data.nc")
    xr.testing.assert_identical(one, two)
    assert (first.best_val, first.best_step) == (second.best_val, second.best_step)
    one, two = (
        read_weights(whole / "best.safetensors")[0],
        read_weights(again / "best.safetensors")[0],
    )
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_before_it_arrives_there_is_no_best(plain, tmp_path):
    assert rise(plain, tmp_path / "run", stop_after=2) == 0
    (cell,) = open_bundle(tmp_path / "run").cells
    assert (cell.state, cell.step, cell.best_val) == ("stopped", 2, None)
    with pytest.raises(UserError, match="has no weights yet"):
        load_cell(tmp_path / "run", f"{TO}/3")


def test_and_back(risen, tmp_path, text):
    out = tmp_path / "run"
    words = {"training": TRAINING, "over": 4, "sample": 0, "shape": "cosine", **QUIET}
    assert convert_cell(risen, f"{WHERE}/3", "plain", out, **words) == 0
    (before,), (cell,) = open_bundle(risen).cells, open_bundle(out).cells
    assert cell.variant == "plain"
    assert open_bundle(out).view()["val_loss"].values.ravel()[0] == before.best_val
    assert str(load_cell(out, "plain/3").integrator) == "plain"
    assert cell.best_val == pytest.approx(loss_of(out, "plain/3", text), abs=1e-6)
    schedule = open_bundle(out).manifest["converted_from"]["schedule"]
    assert (schedule["start"], schedule["end"]) == (TO, "ledger(mu=0.0)")


def test_at_once(plain, tmp_path):
    out = tmp_path / "run"
    assert rise(plain, out, over=0, stop_after=0, seed=5) == 0
    (cell,), (source,) = open_bundle(out).cells, open_bundle(plain).cells
    first = open_bundle(out).datasets[TO, 5]["val_loss"].values[0]
    assert cell.seed == 5 and first == cell.best_val != source.best_val


def test_figures_mark_the_validation_that_counts(risen, tmp_path):
    from velocity_ledger.report._data import Curve

    curve = Curve(np.array([0, 2, 4, 6]), np.array([1.0, 1.5, 1.3, 1.2]), 6)
    assert curve.best == (6, 1.2)
    assert dc.replace(curve, counted=None).best == (0, 1.0)
    assert render(risen, tmp_path / "figures", ("png",))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cell": "plain/4"}, "has no cell 'plain/4': choose one of plain/3"),
        ({"to": "ngpt-lite"}, "plain cannot become ngpt-lite"),
        ({"to": "ngpt-lite", "over": 0}, "plain cannot become ngpt-lite: the fields of plain"),
        ({"to": "layer-scale"}, "no numbers lead from plain to layer-scale"),
        ({"to": "lodger"}, "no integrator is named lodger"),
        ({"to": "ledger with model.width=16"}, "keeps its shape"),
        ({"over": 7}, "arrive after 7 steps, training ends after 6"),
        ({"over": -1}, "0 steps or more"),
        ({"begin": "plain"}, "differ in more than numbers"),
        ({"path": "nowhere"}, "nowhere does not exist"),
    ],
    ids=str,
)
def test_what_cannot_be_is_told_before_anything_is_written(plain, tmp_path, change, words):
    out = tmp_path / "run"
    given = {"path": plain, "cell": "plain/3", "to": TO, "training": TRAINING, "over": 4} | change
    with pytest.raises(UserError, match=words) as told:
        convert_cell(out=out, **given, **QUIET)
    assert "\n" not in str(told.value) and not out.exists()


def test_a_conversion_is_resumed_as_it_was_begun(plain, risen):
    with pytest.raises(UserError, match="holds a run already"):
        rise(plain, risen)
    with pytest.raises(UserError, match=r"begun with schedule .* 4 linear, not .* 3 linear"):
        rise(plain, risen, resume=True, over=3)
    with pytest.raises(UserError, match=r"training\.batch 4, not 5"):
        rise(plain, risen, resume=True, training=dc.replace(TRAINING, batch=5))
    with pytest.raises(UserError, match="was begun from the cell plain/3, not plain/4"):
        convert_cell(plain, "plain/4", TO, risen, training=TRAINING, over=4, resume=True, **QUIET)
    with pytest.raises(UserError, match=r"was begun from .*plain"):
        convert_cell(risen, "plain/3", TO, risen, training=TRAINING, over=4, resume=True, **QUIET)
    with pytest.raises(UserError, match="was not made by convert"):
        rise(plain, plain, resume=True)
    config = open_bundle(risen).config
    assert config is not None
    with pytest.raises(UserError, match="was made by convert"):
        run_experiment(config, risen, resume=True, **QUIET)


def test_weights_that_have_changed_are_not_converted(plain, tmp_path):
    source, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(plain, source)
    assert rise(source, out, stop_after=0) == 0
    (cell_folder(out, WHERE, 3) / "start.safetensors").unlink()
    path = cell_folder(source, "plain", 3) / "best.safetensors"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(UserError, match="holds other weights than when the conversion began"):
        rise(source, out, resume=True)


def test_unless_told_otherwise_it_trains_as_its_run_did():
    assert continued(dc.replace(TRAINING, patience=3)) == TRAINING
