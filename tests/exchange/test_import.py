"""Files that nobody here made: whatever is plausible is read, and what was assumed is said."""

import json

import numpy as np
import pytest

from exchange.published import CONFIG, write_json, write_npz
from velocity_ledger.errors import UserError
from velocity_ledger.exchange import import_published
from velocity_ledger.experiment import open_bundle, summary, table

N = 4


def cell(name="plain_s0", **changes):
    """The arrays of one cell at two checkpoints; None leaves one out."""
    found = {
        f"{name}/train_steps": np.array([5, 10, 15, 20]),
        f"{name}/train_loss": np.array([3.0, 2.8, 2.6, 2.5]),
        f"{name}/val_steps": np.array([10, 20]),
        f"{name}/val_loss": np.array([2.9, 2.4]),
    }
    for i in (0, 1):
        found |= {
            f"{name}/ck{i}_xnorm": np.arange(1.0, N + 2),
            f"{name}/ck{i}_seglen": np.array([1.0, 2.0, 3.0, 4.0]) + i,
            f"{name}/ck{i}_turn": np.array([60.0, 80.0, 100.0]),
        }
    for what, value in changes.items():
        for key in [k for k in found if k.endswith(what)]:
            del found[key]
            if value is not None:
                found[key] = np.asarray(value)
    return {"ckpt_steps": np.array([0, 20]), **found}


def only(found):
    """The one dataset of an import."""
    (data,) = open_bundle(found.path).datasets.values()
    return data


def row(found):
    (one,) = summary(open_bundle(found.path))
    return one


def test_an_npz_alone_gives_the_best_of_its_curve(bring):
    found = bring(cell())
    (record,) = open_bundle(found.path).cells
    assert (record.best_val, record.best_step, record.step) == (2.4, 20, 20)
    assert record.state == "finished" and "configuration" in found.absent
    assert open_bundle(found.path).manifest["configuration"] == {}
    assert row(found).parameters is None


def test_a_json_alone_gives_rows_without_paths(bring):
    about = {"runs": {"plain_s0": {"best_val_loss": 1.5, "best_step": 90, "params": 10}}}
    found = bring(about=about)
    assert row(found).best_val == 1.5 and row(found).path_length is None
    assert "1.5000" in table(open_bundle(found.path))
    assert open_bundle(found.path).datasets == {}
    assert {"step lengths, and so the path length", "turning angles"} <= set(found.absent)


def test_files_in_either_order_make_the_same_bundle(tmp_path):
    files = [
        write_npz(tmp_path / "a", cell("ngpt_lite_s0")),
        write_json(tmp_path / "b", {"config": {"L": 2}, "runs": {"ngpt_lite_s0": {"params": 5}}}),
    ]
    one = open_bundle(import_published(files, tmp_path / "one").path)
    two = open_bundle(import_published(files[::-1], tmp_path / "two").path)
    assert one.cells == two.cells and one.variants == two.variants
    assert one.manifest["configuration"] == two.manifest["configuration"]
    assert one.datasets["ngpt-lite", 0].identical(two.datasets["ngpt-lite", 0])


def test_xnorm_may_lack_the_first_state(bring):
    assert float(only(bring(cell(), name="n1"))["initial_norm"][0]) == 1.0
    found = bring(cell(xnorm=[2.0, 3.0, 4.0, 5.0]), name="n0")
    assert "initial_norm" not in only(found)
    assert only(found)["stream_norm"][1].values.tolist() == [2.0, 3.0, 4.0, 5.0]
    assert any("xnorm" in note and "|x_1|" in note for note in found.notes)


@pytest.mark.parametrize(
    ("turn", "stored", "mean", "noted"),
    [
        ([60, 80, 100], [np.nan, 60, 80, 100], 80, False),
        ([80, 100], [np.nan, np.nan, 80, 100], 90, True),
        ([np.nan, 60, 80, 100], [np.nan, 60, 80, 100], 80, False),
        ([60, 80, 100, np.nan], [np.nan, 60, 80, 100], 80, False),
        ([20, 60, 80, 100], [20, 60, 80, 100], 65, True),
    ],
)
def test_turn_may_have_other_lengths(turn, stored, mean, noted, bring):
    found = bring(cell(turn=turn))
    np.testing.assert_array_equal(only(found)["turning_angle"][1], stored)
    assert row(found).turning_angle == pytest.approx(mean)
    assert any("entr" in note for note in found.notes) == noted


def test_a_turn_of_another_length_is_not_understood(bring):
    found = bring(cell(turn=[60.0]))
    assert "turning_angle" not in only(found)
    assert any("ck1_turn" in line and "1 entries for 4" in line for line in found.not_understood)
    assert "turning angles" in found.absent


def test_radians_are_told_from_degrees_by_their_size(bring):
    found = bring(cell(turn=np.radians([60.0, 80.0, 170.0])), name="radians")
    np.testing.assert_allclose(only(found)["turning_angle"][1, 1:], [60, 80, 170])
    assert any("radians" in note for note in found.notes)
    found = bring(cell(turn=[1.0, 2.0, 3.2]), name="degrees")
    np.testing.assert_array_equal(only(found)["turning_angle"][1, 1:], [1.0, 2.0, 3.2])
    assert any("degrees" in note for note in found.notes)


def test_one_angle_beyond_pi_makes_all_of_them_degrees(bring):
    content = cell(turn=[1.0, 2.0, 3.0]) | cell("ledger_s0", turn=[1.0, 2.0, 30.0])
    data = open_bundle(bring(content).path).datasets["plain", 0]
    np.testing.assert_array_equal(data["turning_angle"][1, 1:], [1.0, 2.0, 3.0])


def test_without_step_lengths_the_configuration_tells_the_depth(bring):
    content = cell(seglen=None, turn=[80.0, 100.0])
    data = only(bring(content, {"config": {"n_layers": 2}}))
    assert data.sizes["sub_update"] == N and "step_length" not in data
    np.testing.assert_array_equal(data["turning_angle"][0], [np.nan, np.nan, 80, 100])


def test_half_precision_is_no_contradiction(bring):
    content = {k: v.astype(np.float16) for k, v in cell(val_loss=[2.9, 1.43296]).items()}
    about = {"runs": {"plain_s0": {"best_val_loss": 1.43296, "best_step": 20}}}
    assert bring(content, about).contradictions == []


def test_a_variant_beside_the_four_may_split_its_layers_otherwise(bring):
    found = bring(cell("macaron_s0"), {"config": {"n_layers": 1}})
    assert only(found).sizes["sub_update"] == N and found.contradictions == []


def test_nan_is_nan(bring):
    found = bring(cell(seglen=[1.0, np.nan, 3.0, 4.0], val_loss=[np.nan, 2.4]))
    assert np.isnan(only(found)["step_length"][0, 1]) and row(found).path_length is None
    assert row(found).best_val == 2.4 and row(found).state == "1 finished"


def test_a_run_that_ends_in_nan_diverged(bring):
    found = bring(cell(val_loss=[2.9, np.nan], train_loss=[3.0, 2.8, np.nan, np.nan]))
    (record,) = open_bundle(found.path).cells
    assert (record.state, record.best_val, record.best_step) == ("diverged", 2.9, 10)


def test_a_json_may_hold_nan_and_numbers_as_texts(bring):
    run = {"best_val_loss": "np.float32(2.4)", "best_step": "20", "wall_s": float("nan")}
    found = bring(cell(), {"config": {"L": "2", "lr": "0.001"}, "runs": {"plain_s0": run}})
    (record,) = open_bundle(found.path).cells
    assert (record.best_val, record.best_step, record.train_s) == (2.4, 20, None)
    assert open_bundle(found.path).manifest["configuration"] == {
        "model": {"layers": 2},
        "training": {"peak_rate": 0.001},
    }


def test_losses_may_be_logged_sparsely_and_out_of_order(bring):
    content = cell(train_steps=[20, 5, 15, 5], train_loss=[1.0, 4.0, 2.0, 9.0])
    found = bring(content)
    assert only(found)["step"].values.tolist() == [5, 15, 20]
    assert only(found)["train_loss"].values.tolist() == [4.0, 2.0, 1.0]
    assert any("repeats" in line for line in found.contradictions)


def test_losses_without_their_steps_are_left_out(bring):
    found = bring(cell(train_steps=None, val_steps=[10]))
    assert not {"train_loss", "val_loss"} & set(only(found).data_vars)
    assert len(found.contradictions) == 2


def test_checkpoints_without_steps_are_not_placed(bring):
    content = cell()
    del content["ckpt_steps"]
    found = bring(content, name="none")
    assert "step_length" not in only(found) and len(found.not_understood) == 6
    found = bring(content, {"config": {"ckpts": [0, 20]}}, name="config")
    assert only(found)["checkpoint"].values.tolist() == [0, 20]
    assert any("config" in note for note in found.notes)


def test_missing_cells_are_named(bring):
    content = cell() | cell("plain_s1") | cell("ledger_s1")
    found = bring(content)
    assert [c.name for c in open_bundle(found.path).cells] == ["plain/0", "plain/1", "ledger/1"]
    assert "cells ledger/0" in found.absent


def test_a_cell_may_lack_a_checkpoint(bring):
    content = {k: v for k, v in (cell() | cell("ledger_s0")).items() if "ledger_s0/ck1" not in k}
    bundle = open_bundle(bring(content).path)
    assert bundle.datasets["ledger", 0]["checkpoint"].values.tolist() == [0]
    assert [r.checkpoint for r in summary(bundle)] == [20, 0]


def test_a_cell_that_stops_early_is_no_rival(bring):
    content = cell() | cell("ledger_s0", train_steps=[1, 2, 3, 4], val_steps=[2, 4])
    content = {k: v for k, v in content.items() if "ledger_s0/ck" not in k}
    rows = summary(open_bundle(bring(content).path))
    assert [r.state for r in rows] == ["1 finished", "1 stopped"]
    assert rows[1].difference is None


def test_extra_arrays_and_keys_are_kept_and_told(bring):
    content = cell() | {
        "plain_s0/ck0_gram": np.eye(3),
        "plain_s0/ck9_turn": np.ones(3),
        "note": np.array("hello"),
        "answer": np.array([42]),
    }
    about = {
        "config": {"optimiser": "adamw", "model": {"L": 2, "rope": False}},
        "runs": {"plain_s0": {"blowup_ratio": 1.5, "curve": [1, 2]}},
        "date": "July",
    }
    found = bring(content, about)
    assert len(found.not_understood) == 9
    origin = open_bundle(found.path).manifest["origin"]["not_understood"]
    strange = {a["name"]: a for a in origin["arrays"]}
    assert set(strange) == {"plain_s0/ck0_gram", "plain_s0/ck9_turn", "note", "answer"}
    assert strange["answer"]["values"] == [42] and strange["note"]["values"] == "hello"
    assert strange["plain_s0/ck0_gram"]["shape"] == [3, 3]
    assert origin["json"] == {
        "config": {"optimiser": "adamw", "model": {"rope": False}},
        "runs": {"plain_s0": {"blowup_ratio": 1.5, "curve": [1, 2]}},
        "date": "July",
    }
    assert (found.path / "origin" / "in.npz").is_file()


def test_contradictions_between_the_files_are_told(bring):
    run = {"best_val_loss": 2.3, "best_step": 15, "final_val_loss": 2.5, "best_bpc": 1.0}
    about = {
        "config": {"L": 3, "layers": 2, "steps": 10},
        "runs": {"plain_s0": run},
        "comparison": {"plain": {"best_val_mean": 2.0}},
    }
    told = "\n".join(bring(cell(), about).contradictions)
    for words in (
        "best_val_loss 2.3, the lowest of its curve is 2.4",
        "best_step 15 is no step",
        "final_val_loss 2.5, the curve ends with 2.4",
        "best_bpc 1",
        "config says 10 steps, arrays reach 20",
        "4 sub-updates, config says 3 layers",
        "config.layers says 2",
        "comparison says 2 for the best validation of plain",
    ):
        assert words in told


def test_the_step_of_the_best_must_be_the_best_s(bring):
    about = {"runs": {"plain_s0": {"best_val_loss": 2.4, "best_step": 10}}}
    (told,) = bring(cell(), about).contradictions
    assert "best_step 10, the lowest of its curve is at 20" in told


def test_the_same_array_twice_must_be_the_same(tmp_path):
    one = write_npz(tmp_path / "one.npz", cell())
    same = write_npz(tmp_path / "two.npz", cell())
    other = write_npz(tmp_path / "three.npz", cell(val_loss=[2.9, 2.3]))
    assert import_published([one, same], tmp_path / "a").contradictions == []
    (told,) = import_published([one, other], tmp_path / "b").contradictions
    assert "plain_s0/val_loss is given twice" in told
    (record,) = open_bundle(tmp_path / "b").cells
    assert record.best_val == 2.4


@pytest.mark.parametrize(
    ("config", "texts"),
    [
        ({}, ["plain", "ledger", "ngpt-lite", "ngpt-ledger"]),
        ({"MU": 0.9, "H_STEP": 1.0}, ["plain", "ledger", "ngpt-lite", "ngpt-ledger"]),
        ({"mu": 0.95}, ["plain", "ledger(mu=0.95)", "ngpt-lite", "ngpt-ledger(mu=0.95)"]),
        ({"momentum": 0.5, "h": 2},
         ["plain", "ledger(mu=0.5, h=2.0)", "ngpt-lite", "ngpt-ledger(mu=0.5, h=2.0)"]),
        ({"variants": {"ledger": "ledger(mu=0.3)"}},
         ["ledger(mu=0.3)", "plain", "ngpt-lite", "ngpt-ledger"]),
        ({"variants": ["ngpt_lite", "plain"]}, ["ngpt-lite", "plain", "ledger", "ngpt-ledger"]),
    ],
)  # fmt: skip
def test_variants_get_their_text_forms(config, texts, bring):
    content = {}
    for name in ("ngpt_ledger", "ngpt-lite", "ledger", "plain"):
        content |= cell(f"{name}_s0")
    bundle = open_bundle(bring(content, {"config": config}).path)
    assert [v["text"] for v in bundle.variants] == texts
    assert len(bundle.datasets) == 4


def test_a_variant_of_another_name_keeps_it(bring):
    bundle = open_bundle(bring(cell("my_euler_s12")).path)
    assert bundle.variants[0]["text"] == "my_euler" and bundle.cells[0].seed == 12


@pytest.mark.parametrize(
    "runs",
    [
        {"plain_s3": {"best_val_loss": 2.0}},
        {"plain": {"3": {"best_val_loss": 2.0}}},
        [{"variant": "plain", "seed": 3, "best_val_loss": 2.0}],
    ],
)
def test_runs_may_be_nested_or_a_list(runs, bring):
    (record,) = open_bundle(bring(about={"runs": runs}).path).cells
    assert (record.name, record.best_val) == ("plain/3", 2.0)


def test_curves_may_be_in_the_json(bring):
    run = {"val_steps": [10, 20], "val_loss": [2.5, None], "train_loss": "a lot"}
    found = bring(about={"runs": {"plain_s0": run}})
    np.testing.assert_array_equal(only(found)["val_loss"], [2.5, np.nan])
    assert any("train_loss" in line for line in found.not_understood)


@pytest.mark.parametrize(
    ("spelled", "field", "value"),
    [
        ("L", "model.layers", 6), ("n_layer", "model.layers", 6), ("DM", "model.width", 192),
        ("d_model", "model.width", 192), ("H", "model.heads", 4), ("n_heads", "model.heads", 4),
        ("ff", "model.hidden", 768), ("block_size", "model.context", 128),
        ("CTX", "model.context", 128), ("dropout", "model.dropout", 0.15),
        ("vocab_size", "model.vocabulary", 80), ("max_iters", "training.steps", 12000),
        ("batch_size", "training.batch", 64), ("learning_rate", "training.peak_rate", 1e-3),
        ("min_lr", "training.final_rate", 1e-4), ("warmup_steps", "training.warmup", 200),
        ("wd", "training.weight_decay", 0.01), ("grad_clip", "training.clip", 1.0),
        ("eval_interval", "training.val_every", 250), ("mu", "integrator.mu", 0.9),
        ("h", "integrator.h", 1.0), ("h_step", "integrator.h", 1.0),
        ("norm", "model.norm", "rms"), ("kv_heads", "model.kv_heads", 2),
        ("activation", "model.activation", "swiglu"), ("tied", "model.tied", True),
        ("telemetry_at", "training.telemetry_at", [0.0, 1.0]),
    ],
)  # fmt: skip
def test_settings_may_be_spelled_in_many_ways(spelled, field, value, bring):
    about = {"config": {"nested": {spelled: value}}, "runs": {"plain_s0": {"best_step": 1}}}
    found = bring(about=about)
    part, name = field.split(".")
    assert open_bundle(found.path).manifest["configuration"] == {part: {name: value}}
    assert found.not_understood == []


def test_a_setting_of_another_kind_is_not_understood(bring):
    about = {"config": {"L": "six", "drop": [1], "corpus": 3, "seeds": "all", "norm": "batch"},
             "runs": {"plain_s0": {"best_step": 1}}}  # fmt: skip
    found = bring(about=about)
    assert open_bundle(found.path).manifest["configuration"] == {"model": {"dropout": 1.0}}
    names = ("L", "corpus", "norm", "seeds")
    assert sorted(found.not_understood) == [f"config.{name}" for name in names]


def test_other_counts_of_parameters_are_no_count(bring):
    runs = {"plain_s0": {"params": 10}, "plain_s1": {"params": 11}}
    found = bring(about={"runs": runs})
    assert open_bundle(found.path).variants[0]["parameters"] is None
    assert any("10 and 11 parameters" in line for line in found.contradictions)


def test_the_out_folder_must_be_new(bring, tmp_path):
    found = bring(cell())
    with pytest.raises(UserError, match="holds a run already"):
        import_published([tmp_path / "in.npz"], found.path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        import_published([tmp_path / "in.npz"], tmp_path / "full")
    with pytest.raises(UserError, match="is a file"):
        import_published([tmp_path / "in.npz"], tmp_path / "in.npz")
    (tmp_path / "empty").mkdir()
    import_published([tmp_path / "in.npz"], tmp_path / "empty")


def test_an_interrupted_import_leaves_nothing(tmp_path, monkeypatch):
    from velocity_ledger.experiment import _imported

    path = write_npz(tmp_path / "a.npz", cell() | cell("ledger_s0"))
    real, calls = _imported.write_cell, []

    def interrupted(*given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(*given)

    monkeypatch.setattr(_imported, "write_cell", interrupted)
    with pytest.raises(KeyboardInterrupt):
        import_published([path], tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]


def test_two_files_of_one_name_are_both_kept(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    files = [write_npz(tmp_path / "one" / "a", cell()),
             write_json(tmp_path / "two" / "a", {"config": CONFIG})]  # fmt: skip
    found = import_published(files, tmp_path / "out")
    copies = sorted(p.name for p in (found.path / "origin").iterdir())
    assert copies == ["1-a", "a"]
    assert json.loads((found.path / "origin" / "1-a").read_text()) == {"config": CONFIG}


@pytest.mark.parametrize(
    "name", ["\x1b[2Jplain_s0", "plain_s" + "9" * 40, "x" * 300 + "_s0", "_s0"]
)
def test_names_that_could_do_harm_are_no_cells(name, bring):
    content = cell() | {f"{name}/val_loss": np.array([1.0])}
    about = {"runs": {name: {"best_val_loss": 1.0}}, "\x1b[2J": 1}
    found = bring(content, about)
    assert [c.name for c in open_bundle(found.path).cells] == ["plain/0"]
    assert not any("\x1b" in line for line in found.not_understood)
    assert len(found.not_understood) >= 2


def test_values_beyond_half_precision_and_infinite_ones_are_read(bring):
    found = bring(cell(val_loss=[1e6, np.inf], seglen=[1e300, 1.0, np.inf, 0.0]))
    (record,) = open_bundle(found.path).cells
    assert (record.best_val, record.state) == (1e6, "diverged")
    assert row(found).path_length is None


def test_a_sample_may_be_text_or_say_how_it_was_drawn(bring):
    runs = {
        "plain_s0": {"sample": "to be"},
        "plain_s1": {"sample": {"text": "or not", "prompt": 3, "temperature": "0.8", "step": "x"}},
        "plain_s2": {"sample": ["no text"]},
    }
    found = bring(about={"runs": runs})
    assert open_bundle(found.path).samples == {
        ("plain", 0): {"prompt": "", "text": "to be"},
        ("plain", 1): {"prompt": "", "text": "or not", "temperature": 0.8},
    }
    assert found.not_understood == ["runs.*.sample, in 1 runs"]
