"""Two runs told apart."""

import dataclasses as dc
from typing import Any

import numpy as np
import pytest

from velocity_ledger.exchange import compare_bundles, export_published, import_published, told
from velocity_ledger.experiment import open_bundle
from velocity_ledger.experiment._cells import NAME, cell_folder, read_cell, write_cell
from velocity_ledger.experiment._config import PRESETS
from velocity_ledger.experiment._manifest import read_manifest, write_manifest


def compared(a, b):
    return compare_bundles(open_bundle(a), open_bundle(b))


def change(run, change_data, variant="ledger", seed=0):
    """Change the measurements of one cell."""
    path = cell_folder(run, variant, seed) / NAME
    data = read_cell(path)
    write_cell(path, change_data(data))


def remember(run, **entries):
    manifest = read_manifest(run)
    write_manifest(run, manifest | entries)


def metric(found, variant, name) -> Any:
    (pair,) = [p for p in found.variants if p.a == variant]
    (one,) = [m for m in pair.metrics if m.name == name]
    return one


def test_a_run_is_identical_to_itself(synthetic):
    run = synthetic()
    found = compared(run, run)
    assert (found.verdict, found.differ) == ("identical", False)
    assert found.numbers.largest == 0.0 and found.numbers.identical > 50
    assert found.configuration == found.corpus == found.environment == ()
    assert all(m.difference == 0 for p in found.variants for m in p.metrics)
    assert all(c.first_unequal is None and c.common for c in found.curves)
    text = told(found)
    assert "identical, bit for bit" in text
    assert "The training curves of 4 cells are equal at all common steps." in text


def test_the_last_bit_is_not_identical_and_no_difference(synthetic):
    a, b = synthetic("a"), synthetic("b")
    change(b, lambda d: d.assign(train_loss=np.nextafter(d["train_loss"], np.float32(9))))
    found = compared(a, b)
    assert (found.verdict, found.differ) == ("within tolerance", False)
    assert found.numbers.within_tolerance == 1
    (curve,) = [c for c in found.curves if c.first_unequal is not None]
    assert (curve.cell, curve.curve) == ("ledger/0", "train_loss")
    assert (curve.first_unequal, curve.first_apart) == (1, None)
    assert "same within the tolerance of 1e-05" in told(found)


def test_a_difference_is_found_with_its_first_step(synthetic):
    a, b = synthetic("a"), synthetic("b")
    later = lambda d: d.assign(train_loss=d["train_loss"] + 0.01 * (d["step"] > 12))  # noqa: E731
    change(b, later)
    found = compared(a, b)
    assert (found.verdict, found.differ) == ("different", True)
    assert found.numbers.different == ("train_loss",)
    (curve,) = [c for c in found.curves if c.first_unequal is not None]
    assert (curve.first_unequal, curve.first_apart, curve.common) == (13, 13, 20)
    assert "The runs differ, in train_loss." in told(found)


def test_nan_against_a_number_is_a_difference(synthetic):
    a, b = synthetic("a"), synthetic("b")
    change(b, lambda d: d.assign(val_loss=d["val_loss"].where(d["validation"] < 20)))
    found = compared(a, b)
    assert found.numbers.different == ("val_loss",) and found.numbers.largest is None


def test_differences_are_b_minus_a_and_paired_by_seed(synthetic):
    a = synthetic("a")
    b = synthetic("b", best_val=lambda v, s: 2.0 + len(v) / 100 + s + 0.1 + 0.01 * s)
    for run in (a, b):
        remember(run, corpus={"characters": 1000, "sha256": "f" * 64})
    one = metric(compared(a, b), "ledger", "best_val")
    assert (one.a, one.b) == (pytest.approx(2.56), pytest.approx(2.665))
    assert one.difference == pytest.approx(0.105)
    assert one.paired.mean == pytest.approx(0.105) and one.paired.n == 2
    assert one.paired.low < 0.105 < one.paired.high
    path = metric(compared(a, b), "ledger", "path_length")
    assert path.difference == 0 and path.paired.mean == 0


@pytest.mark.parametrize(
    ("one", "other", "same", "why"),
    [
        ({"characters": 1000}, {"characters": 999}, False, "other texts"),
        ({"sha256": "a", "characters": 9}, {"sha256": "b", "characters": 9}, False, "other texts"),
        ({}, {"characters": 9}, None, "not known"),
    ],
)
def test_other_texts_are_not_paired(one, other, same, why, synthetic):
    a, b = synthetic("a"), synthetic("b")
    remember(a, corpus=one)
    remember(b, corpus=other)
    found = compared(a, b)
    assert found.same_corpus is same and found.differ is (same is False)
    for name in ("best_val", "path_length"):
        one_metric = metric(found, "plain", name)
        assert one_metric.paired is None and why in one_metric.unpaired
        assert one_metric.difference == 0
    assert why in told(found)


def test_settings_are_told_field_by_field(synthetic):
    config = PRESETS["smoke"]
    config = dc.replace(config, variants=("plain", "ledger"), seeds=(0, 1), corpus="text.txt")
    other = dc.replace(config, training=dc.replace(config.training, peak_rate=0.5))
    found = compared(synthetic("a", config=config), synthetic("b", config=other))
    (field,) = found.configuration
    assert (field.name, field.a, field.b, field.known) == (
        "training.peak_rate", config.training.peak_rate, 0.5, "both",
    )  # fmt: skip
    assert found.verdict == "identical" and found.differ
    assert "training.peak_rate" in told(found)


def test_stacked_seeds_are_told_apart(synthetic):
    a, b = synthetic("a"), synthetic("b")
    remember(a, sessions=[{}, {"stack_seeds": True}])
    remember(b, sessions=[{"stack_seeds": False}])
    (field,) = compared(a, b).environment
    assert (field.name, field.a, field.b, field.known) == ("stack_seeds", True, False, "both")


def test_cells_of_one_side_are_named(synthetic):
    config = dc.replace(PRESETS["smoke"], variants=("plain", "ledger"), corpus="text.txt")
    a = synthetic("a", config=dc.replace(config, seeds=(0, 1)))
    b = synthetic("b", config=dc.replace(config, seeds=(1, 2), variants=("plain", "ngpt-lite")))
    found = compared(a, b)
    assert found.only_a == ("plain/0", "ledger/0", "ledger/1")
    assert found.only_b == ("ngpt-lite/1", "plain/2", "ngpt-lite/2")
    (pair,) = found.variants
    assert (pair.seeds_a, pair.seeds_b) == ((0, 1), (1, 2))
    assert metric(found, "plain", "best_val").paired.n == 1
    assert "1 seed, no interval" in told(found)


def test_runs_without_anything_in_common(synthetic):
    config = dc.replace(PRESETS["smoke"], seeds=(0,))
    a = synthetic("a", config=dc.replace(config, variants=("plain",)))
    b = synthetic("b", config=dc.replace(config, variants=("ledger",)))
    found = compared(a, b)
    assert found.verdict == "nothing in common" and found.differ and not found.variants
    assert "no number in common" in told(found)


def test_a_longer_run_is_compared_where_both_have_been(synthetic):
    a, b = synthetic("a"), synthetic("b", states=lambda v, s: "interrupted")
    for run in (a, b):
        remember(run, corpus={"characters": 1000})
    found = compared(a, b)
    assert set(found.numbers.other_steps) == {"step", "validation", "checkpoint"}
    assert found.differ
    (pair, _) = found.variants
    assert pair.checkpoint_a == pair.checkpoint_b == 10
    assert metric(found, "plain", "best_val").unpaired == "trained for other numbers of steps"
    assert "plain/0 is finished in A, interrupted in B" in found.notes


def test_a_run_and_the_import_of_its_export(synthetic, tmp_path):
    run = synthetic("a")
    remember(run, corpus={"characters": 1000, "sha256": "f" * 64})
    files = export_published(run, tmp_path / "out").files
    import_published(files, tmp_path / "in")
    for one, other in ((run, tmp_path / "in"), (tmp_path / "in", run)):
        found = compared(one, other)
        assert (found.verdict, found.differ) == ("identical", False)
        alone = found.numbers.only_a if one == run else found.numbers.only_b
        assert {"chord", "straightness", "null_path_length"} <= set(alone)
        assert "step_length" in found.numbers.as_means
        straight = metric(found, "plain", "straightness")
        assert straight.paired is None and straight.unpaired.startswith("unknown in")
        ratio = metric(found, "plain", "path_over_mean_norm")
        assert ratio.a == pytest.approx(ratio.b) and ratio.paired.n == 2
        assert "imported" in told(found)


def test_published_spellings_are_our_variants(published, synthetic):
    config = dc.replace(PRESETS["smoke"], variants=("plain", "ngpt-lite"), seeds=(0, 7))
    found = compared(synthetic(config=config), published)
    assert [p.a for p in found.variants] == ["plain", "ngpt-lite"]
    assert found.only_a == ("plain/7", "ngpt-lite/7")
    assert {"ngpt-ledger/2", "plain/1"} <= set(found.only_b)
    assert {f.name for f in found.configuration if f.known == "both"} >= {"model.layers"}
    assert "model.scan" in {f.name for f in found.configuration if f.known == "A"}


def test_a_variant_kept_under_its_published_spelling_is_matched(published, synthetic):
    run = synthetic(config=dc.replace(PRESETS["smoke"], variants=("ngpt_lite",), seeds=(0,)))
    (pair,) = compared(run, published).variants
    assert (pair.a, pair.b) == ("ngpt_lite", "ngpt-lite")
    assert "ngpt_lite (B: ngpt-lite)" in told(compared(run, published))
