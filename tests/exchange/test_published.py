"""The published numbers come out of files like the published ones."""

import itertools
import json
from typing import Any

import numpy as np
import pytest

from exchange.published import BEST, CHECKPOINTS, LEDGERS, SPHERES, VARIANTS, arrays, record
from velocity_ledger.exchange import export_published
from velocity_ledger.experiment import open_bundle, summary, table

ROWS = {
    # best validation, its step, path, turn, parameters
    "plain": (1.43296, 12000, 127.8, 74.9, 2724864),
    "ledger": (1.43516, 11917, 48.2, 28.8, 2724864),
    "ngpt-lite": (1.41978, 11833, 57.8, 97.8, 2722560),
    "ngpt-ledger": (1.45562, 11917, 31.6, 47.3, 2722560),
}


def test_there_are_241_arrays():
    assert len(arrays()) == 241


def test_the_summary_is_the_published_table(published):
    rows = {row.variant: row for row in summary(open_bundle(published))}
    assert list(rows) == list(ROWS)
    for variant, (best, step, path, turn, parameters) in ROWS.items():
        row = rows[variant]
        assert row.best_val is not None and row.best_step is not None
        assert round(row.best_val, 5) == best
        assert round(row.best_step) == step
        assert row.path_length == pytest.approx(path, abs=1e-9)
        assert row.turning_angle == pytest.approx(turn, abs=1e-9)
        assert (row.checkpoint, row.step, row.parameters) == (12000, 12000, parameters)
        assert row.state == "3 finished"
        assert row.straightness is row.null_path_length is row.path_over_norm is None


def test_differences_are_paired_as_recomputed_from_the_published_values(published):
    rows = {row.variant: row for row in summary(open_bundle(published))}
    found: list[Any] = [rows[v].difference for v in ("ngpt-lite", "ledger", "ngpt-ledger")]
    lite, ledger, sphere = found
    assert lite.mean == pytest.approx(-0.01318, abs=5e-6)
    # t = mean / sem; the interval's half width is t(.975, 2) sems.
    assert lite.mean / ((lite.high - lite.low) / 2 / 4.302653) == pytest.approx(-4.0, abs=0.05)
    assert ledger.low < 0.0022 < ledger.high and ledger.low < 0 < ledger.high
    assert sphere.mean == pytest.approx(0.02266, abs=1e-5)
    assert sphere.low > 0 and sphere.p < 0.05


def test_the_table_says_what_is_unknown(published):
    text = table(open_bundle(published))
    assert "1.4330" in text and "127.80 (-)" in text and "74.9 (-)" in text
    # Three seeds, but nobody knows of a search for rates.
    assert "learning rates were found is unknown" in text and "this ranks nothing" in text
    assert "Imported" in text and "Null model" not in text and "Corpus:" in text


def test_cells_hold_means_over_tokens_and_no_more(published):
    bundle = open_bundle(published)
    assert bundle.config is None
    data = bundle.datasets["ngpt-ledger", 2]
    assert dict(data.sizes) == {"checkpoint": 4, "sub_update": 12, "step": 240, "validation": 48}
    assert set(data.data_vars) == {
        "train_loss", "val_loss", "step_length", "turning_angle", "stream_norm", "initial_norm",
        "velocity_norm", "raw_step",
    }  # fmt: skip
    assert data["checkpoint"].values.tolist() == list(CHECKPOINTS)
    given = arrays()
    cell = data.sel(checkpoint=6000)
    np.testing.assert_array_equal(cell["step_length"], given["ngpt_ledger_s2/ck2_seglen"])
    assert np.isnan(cell["turning_angle"][0])
    np.testing.assert_array_equal(cell["turning_angle"][1:], given["ngpt_ledger_s2/ck2_turn"])
    norms = [cell["initial_norm"].values, *cell["stream_norm"].values]
    np.testing.assert_array_equal(norms, given["ngpt_ledger_s2/ck2_xnorm"])
    assert "velocity_norm" not in bundle.datasets["plain", 0]
    assert "raw_step" not in bundle.datasets["ledger", 0]


def test_the_manifest_holds_what_the_files_said_and_where_it_is_from(published):
    manifest = open_bundle(published).manifest
    model, training = (manifest["configuration"][k] for k in ("model", "training"))
    assert model == {
        "layers": 6, "width": 192, "heads": 4, "hidden": 768, "context": 128, "dropout": 0.15,
        "vocabulary": 80,
    }  # fmt: skip
    assert training == {
        "steps": 12000, "batch": 64, "peak_rate": 1e-3, "final_rate": 1e-4, "warmup": 200,
        "weight_decay": 0.01, "val_every": 250,
    }  # fmt: skip
    assert manifest["configuration"]["integrator"] == {"mu": 0.9, "h": 1.0}
    assert manifest["corpus"] == {"characters": 5359444}
    origin = manifest["origin"]
    assert origin["not_understood"]["json"]["config"] == {"device": "Tesla P100"}
    kept = origin["not_understood"]["json"]["runs"]
    assert kept["plain_s0"] == {"blowup_ratio": 1.02} and len(kept) == 12
    assert origin["contradictions"] == []
    for file in origin["files"]:
        assert (published / file["copy"]).stat().st_size == file["bytes"]


def test_samples_and_seconds_are_kept(published):
    bundle = open_bundle(published)
    assert bundle.samples["ngpt-lite", 1]["text"] == record()["runs"]["ngpt_lite_s1"]["sample"]
    assert {c.seed: c.train_s for c in bundle.cells} == {0: 450.0, 1: 451.0, 2: 452.0}


def sets_of_241():
    """Sets of variants with vnorm and with rawstep that make 241 arrays."""
    subsets = [s for k in range(5) for s in itertools.combinations(VARIANTS, k)]
    return [(v, r) for v in subsets for r in subsets if len(v) + len(r) == 4]


def test_all_but_one_array_of_a_cell_are_four_a_checkpoint():
    assert len(sets_of_241()) == 70
    assert (LEDGERS, SPHERES) in sets_of_241()
    assert all(len(arrays(v, r)) == 241 for v, r in sets_of_241()[::7])


@pytest.mark.parametrize(
    ("vnorm", "rawstep"),
    [(LEDGERS, LEDGERS), (VARIANTS, ()), ((), VARIANTS), (("ledger",), VARIANTS[1:])],
)
def test_every_set_of_241_arrays_is_read(vnorm, rawstep, bring):
    found = bring(arrays(vnorm, rawstep), record())
    assert (found.arrays, found.cells, found.contradictions) == (241, 12, [])
    assert not any(line.startswith("array") for line in found.not_understood)
    data = open_bundle(found.path).datasets
    for spelled in VARIANTS:
        cell = data[spelled.replace("_", "-"), 0]
        assert ("velocity_norm" in cell) == (spelled in vnorm)
        assert ("raw_step" in cell) == (spelled in rawstep)
    rows = summary(open_bundle(found.path))
    assert rows[0].path_length == pytest.approx(127.8)


def test_it_goes_out_again_as_it_came_in(published, tmp_path):
    written = export_published(published, tmp_path / "out")
    with np.load(written.files[0]) as archive:
        back = dict(archive)
    given = arrays()
    assert back.keys() == given.keys()
    for name, values in given.items():
        np.testing.assert_array_equal(back[name], values, err_msg=name)
    out = json.loads(written.files[1].read_text("utf-8"))
    for name, run in record()["runs"].items():
        for key, value in run.items():
            assert out["runs"][name][key] == value, (name, key)
    assert out["config"]["device"] == "Tesla P100"
    for variant in VARIANTS:
        assert out["comparison"][variant]["best_val_mean"] == pytest.approx(np.mean(BEST[variant]))
