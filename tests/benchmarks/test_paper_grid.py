"""The article's grid: the library's own runs, whose times outlive an interruption."""

import contextlib
import dataclasses as dc
import io
import json
import os
import shutil
import subprocess
import sys
import types
from typing import Any

import pytest

from benchmarks import paper_grid
from benchmarks.driver import ROOT
from small_run import MODEL, SENTENCE, SIZES
from velocity_ledger.experiment import PRESETS, CellRecord, open_bundle


@pytest.fixture(autouse=True, scope="module")
def own_environment():
    """The command prepares its process for JAX; the tests go on as before."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(autouse=True, scope="module")
def a_network_soon_compiled():
    smoke = PRESETS["smoke"]
    training = dc.replace(smoke.training, **SIZES)
    small = dc.replace(smoke, model=MODEL, training=training, sample=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "smoke", small)
        yield


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    file = tmp_path_factory.mktemp("text") / "text.txt"
    file.write_text(SENTENCE * 60)
    return file


@pytest.fixture(scope="module")
def whole(text, tmp_path_factory):
    """A grid that nobody interrupted, and what was said."""
    out = tmp_path_factory.mktemp("whole") / "grid"
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert small(text, out) == 0
    return out, said.getvalue()


def small(text, out, *more):
    own = ["--text", text, "--out", out, "--variants", "plain", "--seeds", "3", "1"]
    return paper_grid.main([str(word) for word in ["--quick", *own, "--steps", "4", *more]])


def read(out):
    return json.loads(out.with_name(f"{out.name}.json").read_text())


def test_a_grid_is_a_bundle_and_its_times(whole):
    out, said = whole
    bundle, found = open_bundle(out), read(out)
    assert [cell.name for cell in bundle.cells] == list(found["cells"]) == ["plain/3", "plain/1"]
    assert {cell.state for cell in bundle.cells} == {"finished"}
    # Measured and sampled as the preset has it.
    assert set(bundle.datasets) == set(bundle.samples) == {("plain", 3), ("plain", 1)}
    for cell in found["cells"].values():
        parts = [cell[figure] for figure in paper_grid.COLUMNS.values()]
        assert all(part >= 0 for part in parts) and min(parts[:4]) > 0
        assert sum(parts) == pytest.approx(cell["seconds"])
    assert sum(cell["seconds"] for cell in found["cells"].values()) < found["seconds"]
    assert found["tokens"] == 2 * 4 * 4 * 8 and found["programs"] > 0
    assert found["times_as_fast_as_published"] is None and "another grid" in found["no_ratio"]
    assert "not held against the 5,460 s published for a Tesla P100: another grid" in said
    assert str(out) in said and "plain/3" in said


def test_seeds_side_by_side_share_the_time(whole, text, tmp_path, capsys):
    out = tmp_path / "stacked"
    assert small(text, out, "--stack-seeds") == 0
    found = read(out)
    (turn,) = found["sessions"][0]["turns"]
    assert turn["cells"] == ["plain/3", "plain/1"]
    for name, cell in found["cells"].items():
        assert cell["seconds"] == pytest.approx(turn["seconds"] / 2)
        assert cell["best_val"] == pytest.approx(read(whole[0])["cells"][name]["best_val"], 1e-4)
    assert open_bundle(out).manifest["sessions"][0]["stack_seeds"] is True


def test_an_interrupted_grid_goes_on_and_keeps_its_times(whole, text, tmp_path, capsys):
    halted = tmp_path / "halted"
    assert small(text, halted, "--stop-after", "2") == 0
    first = read(halted)
    assert {cell["state"] for cell in first["cells"].values()} == {"stopped"}
    # What is not named is as the run was begun.
    assert paper_grid.main(["--resume", "--out", str(halted)]) == 0
    second = read(halted)
    assert [len(found["sessions"]) for found in (first, second)] == [1, 2]
    for name, cell in second["cells"].items():
        assert cell["state"] == "finished"
        assert cell["seconds"] > first["cells"][name]["seconds"]
    for one, other in zip(open_bundle(whole[0]).cells, open_bundle(halted).cells, strict=True):
        assert (one.best_val, one.best_step) == (other.best_val, other.best_step)
    # Nothing is left to do, and all of it is told again.
    assert paper_grid.main(["--resume", "--out", str(halted)]) == 0
    third = read(halted)
    assert third["cells"] == second["cells"] and len(third["sessions"]) == 3
    assert third["seconds"] > second["seconds"]


def test_the_times_of_another_run_are_not_taken_over(whole, tmp_path, capsys):
    out = tmp_path / "grid"
    shutil.copytree(whole[0], out)
    found = read(whole[0])
    paper_grid.file_of(out).write_text(json.dumps(found | {"run": "another"}))
    assert paper_grid.main(["--resume", "--out", str(out)]) == 0
    assert read(out)["cells"]["plain/3"]["seconds"] is None
    assert read(out)["run"] == found["run"]


def test_a_signal_saves_and_says_how_to_go_on(text, tmp_path, capsys, monkeypatch):
    import velocity_ledger.experiment as experiment

    run = experiment.run_experiment

    def stopped(*given: Any, **named: Any) -> int:
        run(*given, **named | {"stop_after": 1})
        return 130

    monkeypatch.setattr(experiment, "run_experiment", stopped)
    assert small(text, tmp_path / "grid") == 130
    said = capsys.readouterr()
    assert "not held" in said.out
    assert said.err.splitlines()[-1].endswith("--steps 4 --resume")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--steps", "0"], "argument --steps: must be a whole number from 1 on, got 0"),
        (["--precision", "fp8"], "argument --precision: invalid choice: 'fp8'"),
        (["--seeds", "one"], "argument --seeds: invalid int value: 'one'"),
        (["--variants", "nothing"], "nothing"),
        (["--text", "/no/text.txt"], "/no/text.txt"),
        (["--resume", "--out", "{}/none"], "{}/none"),
        (["--out", "/dev/null/x"], "cannot write to /dev/null"),
        (["--out", "{}/full"], "{}/full is not empty and holds no run"),
        (["--out", "."], "is not empty and holds no run"),
    ],
    ids=lambda value: "-".join(value).strip("-") if isinstance(value, list) else "",
)
def test_a_mistake_is_one_line_and_exit_2(words, told, text, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    words = [word.format(tmp_path) for word in words]
    given = [] if "--text" in words else ["--text", str(text)]
    assert paper_grid.main(["--quick", *given, *words]) == 2
    out, err = capsys.readouterr()
    assert not out and err.count("\n") == 1 and not list(tmp_path.glob("*.json"))
    assert err.startswith("paper_grid: error: ") and told.format(tmp_path) in err


def test_help_needs_no_jax(capsys):
    assert paper_grid.main(["--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "5,460 s published for a Tesla P100" in said and "the aim is 180 s" in said
    look = "import benchmarks.paper_grid, sys; sys.exit('jax' in sys.modules)"
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    subprocess.run([sys.executable, "-c", look], env=paths, check=True)


def asked(*words):
    return paper_grid.parser().parse_args(words)


def test_the_grid_is_the_published_one_in_what_the_device_does_best():
    preset = PRESETS["paper"]
    gpu = paper_grid.configured(asked(), "gpu")
    assert gpu.model.precision == "bf16"
    assert gpu.training == dc.replace(preset.training, checkpoint_every=paper_grid.SAVE_EVERY)
    assert paper_grid.configured(asked(), "cpu") == preset
    own = paper_grid.configured(asked("--precision", "tf32", "--save-every", "7"), "gpu")
    assert (own.model.precision, own.training.checkpoint_every) == ("tf32", 7)
    # A run that goes on is what it was begun as, wherever it goes on.
    assert paper_grid.configured(asked(), "cpu", own) == own


def made(config, **own):
    cells = [
        CellRecord(variant, variant, seed, **{"state": "finished", "step": 12_000, **own})
        for variant in config.variants
        for seed in config.seeds
    ]
    manifest = {"corpus": {"name": "text"}}
    return types.SimpleNamespace(config=config, cells=cells, manifest=manifest)


def session(bundle, seconds, together=1):
    names = [cell.name for cell in bundle.cells]
    spent = {"seconds": 5.0, "training_s": 4.0, "validating_s": 1.0, "measuring_s": 0.0}
    spent |= {"xla_s": 0.5, "programs": 2, "programs_from_cache": 1}
    turns = [
        {"cells": names[i : i + together], **{k: together * v for k, v in spent.items()}}
        for i in range(0, len(names), together)
    ]
    return {"device": "a chip", "stacked": together > 1, "seconds": seconds, "turns": turns}


def test_the_published_time_is_for_the_whole_published_grid():
    config = paper_grid.configured(asked(), "gpu")
    timed = {"train_s": 2.0, "compile_s": 0.5, "tokens_per_second": 9.0, "best_val": 1.5}
    bundle = made(config, **timed)
    # Whether cells go side by side or not, each has its part.
    sessions = [session(bundle, 100.0), session(bundle, 173.0, together=3)]
    found = paper_grid.figures(bundle, sessions)
    assert found["times_as_fast_as_published"] == pytest.approx(20.0) and not found["no_ratio"]
    assert found["tokens"] == 12 * 12_000 * 64 * 128
    assert found["tokens_per_second"] == found["tokens"] / 273.0
    assert found["start_up_s"] == pytest.approx(273.0 - 24 * 5.0)
    assert found["cells"]["plain/0"]["saving_s"] == pytest.approx(8.0 - 2.0 - 0.5 - 2.0)
    assert "20.00 times as fast as the 5,460 s" in paper_grid.told(found)

    def reason(bundle, sessions=sessions):
        found = paper_grid.figures(bundle, sessions)
        assert found["times_as_fast_as_published"] is None
        assert found["no_ratio"] in paper_grid.told(found)
        return found["no_ratio"]

    assert reason(bundle, sessions=[]) == "the times of earlier sessions are lost"
    assert reason(made(config, state="stopped")) == "12 of 12 cells are not finished"
    assert "another grid" in reason(made(dc.replace(config, seeds=(0, 1, 3)), **timed))
    short = dc.replace(config, training=dc.replace(config.training, steps=100))
    assert "another schedule" in reason(made(short, **timed))
