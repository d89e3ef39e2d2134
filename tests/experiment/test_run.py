"""A whole run on a tiny model: finished, interrupted, killed, resumed, refused."""

import contextlib
import dataclasses as dc
import errno
import itertools
import json
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from small_run import LETTERS, MODEL, SIZES
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import (
    Bundle,
    ExperimentConfig,
    _grid,
    _run,
    cell_metadata,
    load_cell,
    open_bundle,
    run_experiment,
    summary,
    table,
)
from velocity_ledger.experiment._cells import cell_folder, read_cell
from velocity_ledger.experiment._manifest import CellRecord
from velocity_ledger.experiment._variants import variants_of
from velocity_ledger.experiment._weights import read_weights, write_weights
from velocity_ledger.training import (
    SilentProgress,
    TrainingConfig,
    ValidationBatches,
    _loop,
    evaluate,
    validation_batches,
)

TRAINING = TrainingConfig(steps=12, warmup=2, val_every=4, checkpoint_every=4, **SIZES)
MINE = '''
from velocity_ledger.integrators import Info, Integrator


class Damped(Integrator):
    """Euler with a smaller step."""

    h: float = 0.5

    def step(self, field, stream, state, ctx):
        f = field(stream)
        return stream + self.h * f, state, Info(increment=f, raw_step=self.h * f, step=self.h * f)


class Broken(Integrator):
    """Gives no number."""

    def step(self, field, stream, state, ctx):
        f = field(stream) * float("nan")
        return stream + f, state, Info(increment=f, raw_step=f, step=f)


class Crash(Integrator):
    """Does not run."""

    def step(self, field, stream, state, ctx):
        return stream + stream[:, :1, :1] @ stream, state, None
'''


def quiet(_label: str) -> SilentProgress:
    return SilentProgress()


def silent(_message: str) -> None:
    pass


def run(config, out, **given) -> int:
    return run_experiment(config, out, progress=quiet, **{"notify": silent, **given})


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    letters = np.random.default_rng(0).choice(list(LETTERS), 2000)
    path.write_text("".join(letters))
    return path


@pytest.fixture(scope="module")
def config(text) -> ExperimentConfig:
    return ExperimentConfig(
        model=MODEL, training=TRAINING, variants=("plain", "ledger(mu=.8)"), seeds=(0, 1),
        corpus=str(text), sample=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def one_seed(config) -> ExperimentConfig:
    return dc.replace(config, seeds=(0,))


@pytest.fixture(scope="module")
def whole(config, tmp_path_factory) -> pathlib.Path:
    """The run that nothing interrupted."""
    out = tmp_path_factory.mktemp("whole") / "run"
    assert run(config, out, command=["velocity-ledger", "compare"]) == 0
    return out


def results(out: pathlib.Path, cell: CellRecord) -> tuple[xr.Dataset, dict, dict, tuple]:
    """All that a cell found, and nothing of when or how fast."""
    folder = cell_folder(out, cell.slug, cell.seed)
    data = read_cell(folder / "data.nc")
    weights, metadata = read_weights(folder / "best.safetensors")
    # The grid's other seeds are no part of the result.
    for about in (data.attrs, metadata):
        del about["config"]
    return data, weights, metadata, (cell.state, cell.step, cell.best_val, cell.best_step)


def assert_same_results(whole: pathlib.Path, out: pathlib.Path) -> None:
    expected = {cell.name: cell for cell in open_bundle(whole).cells}
    for cell in open_bundle(out).cells:
        first, second = results(whole, expected[cell.name]), results(out, cell)
        xr.testing.assert_identical(first[0], second[0])
        assert list(first[1]) == list(second[1])
        for name, array in first[1].items():
            np.testing.assert_array_equal(array, second[1][name])
        assert first[2:] == second[2:]
    logs = [p.relative_to(out) for p in out.rglob("log.jsonl")]
    assert logs
    for log in logs:
        assert losses(out / log) == losses(whole / log)


def assert_close_results(whole: pathlib.Path, out: pathlib.Path) -> None:
    """The cells of `out` are those of the same names, up to the rounding of sums."""
    expected = {cell.name: cell for cell in open_bundle(whole).cells}
    for cell in open_bundle(out).cells:
        first, second = results(whole, expected[cell.name]), results(out, cell)
        xr.testing.assert_allclose(first[0], second[0], rtol=1e-3, atol=1e-4)
        assert list(first[1]) == list(second[1])
        same = ("state", "reason", "step", "best_step")
        wanted, found = dc.asdict(expected[cell.name]), dc.asdict(cell)
        assert [wanted[k] for k in same] == [found[k] for k in same]
        folders = [cell_folder(b, cell.slug, cell.seed) for b in (whole, out)]
        assert len({tuple(sorted(p.name for p in f.iterdir())) for f in folders}) == 1
        assert len(losses(folders[0] / "log.jsonl")) == len(losses(folders[1] / "log.jsonl"))


def losses(log: pathlib.Path) -> list[tuple[int, str, float]]:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [(x["step"], k, v) for x in lines for k, v in x.items() if k.endswith("_loss")]


def validation(bundle: Bundle, corpus_text: pathlib.Path) -> ValidationBatches:
    characters = sorted(set(corpus_text.read_text()))
    ids = np.array([characters.index(c) for c in corpus_text.read_text()], np.int32)
    assert bundle.config is not None
    return validation_batches(ids[len(ids) * 9 // 10 :], bundle.config.training, 8)


def assert_weights_reproduce_best(out: pathlib.Path, corpus_text: pathlib.Path) -> None:
    bundle = open_bundle(out)
    batches = validation(bundle, corpus_text)
    for cell in bundle.cells:
        if cell.best_val is None:
            continue
        metadata = cell_metadata(out, cell.name)
        loss = evaluate(load_cell(out, cell.name), batches)
        assert loss == pytest.approx(float(metadata["best_val"]), abs=1e-6)
        assert int(metadata["best_step"]) == cell.best_step
        assert float(metadata["best_val"]) == cell.best_val


def test_finished_run_is_whole_and_says_what_made_it(whole, config):
    manifest = json.loads((whole / "manifest.json").read_text())
    assert manifest["command"] == ["velocity-ledger", "compare"]
    assert manifest["configuration"]["variants"] == ["plain", "ledger(mu=0.8)"]
    assert manifest["vocabulary"]["characters"] == "\n abcde"
    assert manifest["environment"]["jax"]
    assert manifest["device"]["backend"] == "cpu" and manifest["device"]["asked"] == "auto"
    assert manifest["source"]["sha256"]
    assert len(manifest["corpus"]["sha256"]) == 64
    assert [(c["variant"], c["seed"]) for c in manifest["cells"]] == [
        ("plain", 0), ("ledger(mu=0.8)", 0), ("plain", 1), ("ledger(mu=0.8)", 1),
    ]  # fmt: skip
    bundle = open_bundle(whole)
    for cell in bundle.cells:
        assert cell.state == "finished"
        assert cell.step == 12
        data = bundle.datasets[cell.variant, cell.seed]
        assert list(data["validation"].values) == [4, 8, 12]
        assert list(data["checkpoint"].values) == [0, 1, 6, 12]
        assert cell.best_val == float(data["val_loss"].min())
        folder = cell_folder(whole, cell.slug, cell.seed)
        assert (folder / "log.jsonl").read_text().count("val_loss") == 3
    parameters = {v["parameters"] for v in manifest["variants"]}
    assert len(parameters) == 1


def test_saved_weights_reproduce_the_best_validation(whole, text):
    assert_weights_reproduce_best(whole, text)


def test_runs_of_one_seed_are_paired(whole):
    start = {k: d["initial_norm"].sel(checkpoint=0) for k, d in open_bundle(whole).datasets.items()}
    for seed in (0, 1):
        np.testing.assert_array_equal(start["plain", seed], start["ledger(mu=0.8)", seed])
    assert not np.array_equal(start["plain", 0], start["plain", 1])


def test_null_of_the_ledger_is_that_of_its_mu(whole):
    data = open_bundle(whole).datasets["ledger(mu=0.8)", 0]
    f1, f2 = data["increment"].sel(checkpoint=0).astype(float).mean("token").values
    # v1 = .2 f1, v2 = .16 f1 + .2 f2 with f1, f2 orthogonal.
    path = 0.2 * f1 + np.hypot(0.16 * f1, 0.2 * f2)
    assert float(data["null_path_length"].sel(checkpoint=0)) == pytest.approx(path, rel=1e-5)


def test_table_of_a_finished_run(whole):
    text = table(open_bundle(whole))
    assert "ledger(mu=0.8)" in text
    assert "2 finished" in text
    assert all(
        row.difference is None or row.difference.n == 2 for row in summary(open_bundle(whole))
    )


def test_run_that_exists_is_refused_without_resume(whole, config):
    before = (whole / "manifest.json").read_bytes()
    with pytest.raises(UserError, match="holds a run already: add --resume"):
        run(config, whole)
    assert (whole / "manifest.json").read_bytes() == before


def test_resuming_a_finished_run_changes_no_cell(whole, config):
    files = [p for p in whole.rglob("*") if p.is_file() and "cells" in p.parts]
    before = {p: p.stat().st_mtime_ns for p in files}
    assert run(config, whole, resume=True) == 0
    assert before == {p: p.stat().st_mtime_ns for p in files}
    assert len(open_bundle(whole).manifest["sessions"]) >= 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: dc.replace(c, training=dc.replace(c.training, steps=13)),
         r"training\.steps 12, not 13"),
        (lambda c: dc.replace(c, training=dc.replace(c.training, patience=2)),
         r"training\.patience None, not 2"),
        (lambda c: dc.replace(c, model=dc.replace(c.model, width=16)), r"model\.width 8, not 16"),
        (lambda c: dc.replace(c, seeds=(0,)), r"seeds 0 1, not 0"),
        (lambda c: dc.replace(c, variants=("plain",)),
         r"variants plain ledger\(mu=0\.8\), not plain"),
        (lambda c: dc.replace(c, corpus="shakespeare"), r"corpus .*text\.txt, not shakespeare"),
    ],
)  # fmt: skip
def test_resume_with_another_configuration_names_the_field(whole, config, change, words):
    with pytest.raises(UserError, match=words):
        run(change(config), whole, resume=True)


def test_the_recorded_text_written_another_way_is_the_same(whole, config, text, monkeypatch):
    monkeypatch.chdir(text.parent)
    assert run(dc.replace(config, corpus="./text.txt"), whole, resume=True) == 0


DAMAGES = {
    "gone": lambda path: path.unlink(),
    "damaged": lambda path: path.write_bytes(path.read_bytes()[:100]),
}


@pytest.mark.parametrize(
    ("checkpoint", "what", "name"),
    [
        (True, "gone", "data.nc"),
        (True, "damaged", "best.safetensors"),
        (False, "damaged", "data.nc"),
        (False, "gone", "best.safetensors"),
        # What is lost is found in one way, and made again in one way: here are the other pairs.
        pytest.param(True, "damaged", "data.nc", marks=pytest.mark.slow),
        pytest.param(True, "gone", "best.safetensors", marks=pytest.mark.slow),
        pytest.param(False, "gone", "data.nc", marks=pytest.mark.slow),
        pytest.param(False, "damaged", "best.safetensors", marks=pytest.mark.slow),
    ],
)
def test_a_done_cell_whose_files_are_lost_is_made_again(
    config, whole, tmp_path, name, what, checkpoint
):
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    cell = open_bundle(out).cells[1]
    folder = cell_folder(out, cell.slug, cell.seed)
    DAMAGES[what](folder / name)
    if not checkpoint:
        shutil.rmtree(folder / "checkpoint")
    said = []
    assert run(config, out, resume=True, notify=said.append) == 0
    then = "going on from its checkpoint of step 12" if checkpoint else "running again"
    told = f"{cell.name} is finished, but {folder / name} is {what}: {then}"
    assert [s for s in said if s.startswith(cell.name)] == [told]
    assert_same_results(whole, out)


def test_another_device_is_said_on_resume(config, whole, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["device"]["kind"] = "NVIDIA H200"
    (out / "manifest.json").write_text(json.dumps(manifest))
    said = []
    assert run(config, out, resume=True, notify=said.append) == 0
    (line,) = [s for s in said if "environment" in s]
    assert "device NVIDIA H200 then, cpu now" in line and "bits may differ" in line


def test_a_negative_stop_is_refused_before_anything_is_made(config, tmp_path):
    with pytest.raises(UserError, match="stop_after must not be negative, got -1"):
        run(config, tmp_path / "run", stop_after=-1)
    assert not (tmp_path / "run").exists()


def test_a_cell_is_named_by_a_text(whole):
    # In a process of its own: here a type checker would object first.
    code = (
        "import sys; from velocity_ledger.experiment import load_cell; load_cell(sys.argv[1], None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(whole)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
    )
    last = done.stderr.splitlines()[-1]
    assert last.endswith("UserError: a cell is a text like 'ledger/0', got None")


def test_resume_needs_a_run(config, tmp_path):
    with pytest.raises(UserError, match="no run to resume"):
        run(config, tmp_path / "absent", resume=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="no run to resume"):
        run(config, tmp_path, resume=True)


def test_folder_with_something_else_is_refused(config, tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(UserError, match="not empty and holds no run"):
        run(config, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(UserError, match="is a file"):
        run(config, tmp_path / "thesis.tex")


def test_unwritable_output_fails_before_step_1(config, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write to"):
        run(config, tmp_path / "file" / "run")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"variants": ("plain", "ledgr")}, "ledgr"),
        ({"variants": ("ledger", "ledger(mu=.9)")}, "the same variant"),
        ({"corpus": "/absent/text.txt"}, "absent"),
        ({"model": dc.replace(MODEL, context=500)}, "largest context"),
    ],
)
def test_mistakes_leave_no_folder(config, tmp_path, change, words):
    with pytest.raises(UserError, match=words):
        run(dc.replace(config, **change), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_run_of_another_process_is_not_touched(config, whole):
    with _run.locked(whole), pytest.raises(UserError, match=r"another process \(pid"):
        run(config, whole, resume=True)


class Interrupt:
    """A tracker that sends a signal when a step's loss arrives."""

    def __init__(self, number: int, step: int) -> None:
        self.number, self.step = number, step

    def start(self, step):
        pass

    def log(self, step, metrics):
        if step == self.step and "train_loss" in metrics:
            os.kill(os.getpid(), self.number)

    def flush(self):
        pass

    def finish(self):
        pass


def test_signal_saves_and_a_resumed_run_gives_the_same_bits(one_seed, whole, text, tmp_path):
    out = tmp_path / "run"

    def trackers(cell, folder):
        return [Interrupt(signal.SIGTERM, 6)] if cell.name == "ledger(mu=0.8)/0" else []

    assert run(one_seed, out, trackers=trackers) == 143
    states = [c.state for c in open_bundle(out).cells]
    assert states == ["finished", "interrupted"]
    cell = open_bundle(out).cells[1]
    assert 6 <= cell.step < 12
    assert_weights_reproduce_best(out, text)
    assert "1 interrupted" in table(open_bundle(out))
    assert run(one_seed, out, resume=True) == 0
    assert_same_results(whole, out)


def test_ctrl_c_exits_130_and_leaves_the_rest_for_later(config, tmp_path):
    out = tmp_path / "run"
    assert run(config, out, trackers=lambda c, f: [Interrupt(signal.SIGINT, 2)]) == 130
    states = [c.state for c in open_bundle(out).cells]
    assert states == ["interrupted", "pending", "pending", "pending"]
    assert table(open_bundle(out))


def test_stopped_and_resumed_run_gives_the_same_bits(one_seed, whole, text, tmp_path):
    out = tmp_path / "run"
    # Off the validation grid: judged there for this stop, forgotten by the run that goes on.
    assert run(one_seed, out, stop_after=6) == 0
    cells = open_bundle(out).cells
    assert {(c.state, c.step) for c in cells} == {("stopped", 6)}
    assert_weights_reproduce_best(out, text)
    assert "up to step 6 of a schedule of 12" in table(open_bundle(out))
    assert all(r.checkpoint == 6 for r in summary(open_bundle(out)))
    assert run(one_seed, out, resume=True) == 0
    assert_same_results(whole, out)


def test_a_run_begun_by_a_version_that_measured_less_goes_on(
    one_seed, whole, tmp_path, monkeypatch
):
    out, grams = tmp_path / "run", ["step_gram", "increment_step_gram"]
    measure = _loop.measure
    with monkeypatch.context() as older:

        def less(*given):
            return {k: v for k, v in measure(*given).items() if k not in grams}

        older.setattr(_loop, "measure", less)
        assert run(one_seed, out, stop_after=5) == 0
    assert not any(name in read_cell(file) for file in out.rglob("data.nc") for name in grams)
    said = []
    assert run(one_seed, out, resume=True, notify=said.append) == 0
    told = [message for message in said if "did not measure" in message]
    assert len(told) == 1 and "increment_step_gram, step_gram" in told[0]
    bundle, expected = open_bundle(out), open_bundle(whole)
    assert bundle.datasets
    early: Any = None
    for key, data in bundle.datasets.items():
        early = data["checkpoint"] <= 5
        for name in grams:
            assert data[name].dtype == np.float32 and data[name].attrs
            assert np.isnan(data[name][early]).all()
        # All else, and what was measured later, is as if nothing had been missing.
        there = expected.datasets[key]
        there = there.assign({name: there[name].where(~early) for name in grams})
        xr.testing.assert_equal(data, there)
        assert np.isfinite(data["step_gram"][~early]).all()
    assert early.any() and not early.all()
    assert table(bundle)


_CHILD = """
import pathlib, pickle, sys
from velocity_ledger.experiment import run_experiment
config = pickle.loads(bytes.fromhex(sys.argv[1]))
sys.exit(run_experiment(config, pathlib.Path(sys.argv[2])))
"""


def test_killed_run_is_readable_all_along_and_resumes_to_the_same_bits(one_seed, whole, tmp_path):
    out = tmp_path / "run"
    path = os.pathsep.join(p for p in sys.path if p)
    with subprocess.Popen(
        [sys.executable, "-c", _CHILD, pickle.dumps(one_seed).hex(), str(out)],
        env={**os.environ, "PYTHONPATH": path},
    ) as child:
        seen = 0
        try:
            while child.poll() is None:
                if not (out / "manifest.json").exists():
                    time.sleep(0.01)
                    continue
                # Whatever is there can be read, at this very moment.
                bundle = open_bundle(out)
                assert table(bundle)
                for cell in bundle.cells:
                    with contextlib.suppress(UserError):
                        cell_metadata(out, cell.name)
                seen += 1
                # Halted for the look: it does not finish between the look and the end.
                child.send_signal(signal.SIGSTOP)
                cells = open_bundle(out).cells[1:]
                if any(cell.state == "running" and cell.step >= 4 for cell in cells):
                    child.send_signal(signal.SIGKILL)
                    break
                child.send_signal(signal.SIGCONT)
                time.sleep(0.02)  # A reader without a pause takes the run's time.
        finally:
            child.kill()
            child.wait()
    assert child.returncode == -signal.SIGKILL
    assert seen > 1
    assert "running" in [cell.state for cell in open_bundle(out).cells]
    assert run(one_seed, out, resume=True) == 0
    assert_same_results(whole, out)


def test_full_disk_says_what_is_kept_and_can_be_resumed(one_seed, whole, tmp_path, monkeypatch):
    out = tmp_path / "run"
    calls = itertools.count()
    write = _grid.write_cell

    def full(path, dataset):
        if next(calls) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, dataset)

    monkeypatch.setattr(_grid, "write_cell", full)
    with pytest.raises(UserError, match=r"no space left.*up to step 4.*--resume"):
        run(one_seed, out)
    cell = open_bundle(out).cells[0]
    assert cell.state == "interrupted"
    assert "no space left" in (cell.message or "")
    assert run(one_seed, out, resume=True) == 0
    assert_same_results(whole, out)


def test_kill_between_two_writes_never_fools_a_reader(one_seed, whole, text, tmp_path, monkeypatch):
    """After every rename in turn, a reader finds a bundle whose weights keep their word."""
    out = tmp_path / "run"
    replace = os.replace
    seen = []

    def replaced(source, target):
        replace(source, target)
        target = pathlib.Path(target)
        if target.name not in ("manifest.json", "data.nc", "best.safetensors"):
            return
        seen.append(target.name)
        bundle = open_bundle(out)
        assert table(bundle)
        assert bundle.view() is not None
        if target.name == "best.safetensors":
            # The manifest is behind by now: the weights speak for themselves.
            cell = "/".join(target.parts[-3:-1])
            loss = evaluate(load_cell(out, cell), validation(bundle, text))
            assert loss == pytest.approx(float(cell_metadata(out, cell)["best_val"]), abs=1e-6)

    monkeypatch.setattr(os, "replace", replaced)
    assert run(one_seed, out) == 0
    assert {"manifest.json", "data.nc", "best.safetensors"} == set(seen)
    assert not list(out.rglob(".*.part"))


def test_diverged_cell_does_not_stop_the_others(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    out = tmp_path / "run"
    said = []
    both = dc.replace(config, variants=("./mine.py:Broken", "plain"), seeds=(0,))
    assert run(both, out, notify=said.append) == 1
    assert [c.state for c in open_bundle(out).cells] == ["diverged", "finished"]
    assert [s for s in said if "diverged" in s] == [
        "diverged: ./mine.py:Broken/0 at step 1; the best weights before that are kept"
    ]
    assert "Diverged, and left out" in table(open_bundle(out))
    assert run(both, out, resume=True) == 1


@pytest.fixture(scope="module")
def mine(config, tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("mine")
    (folder / "mine.py").write_text(MINE)
    variants = (f"{folder}/mine.py:Damped(h=0.25)",)
    assert run(dc.replace(config, variants=variants, seeds=(0,)), folder / "run") == 0
    return folder


def test_users_file_is_kept_with_its_hash_and_read_from_the_copy(mine, text):
    out = mine / "run"
    record = open_bundle(out).variants[0]
    assert (out / record["file"]["copy"]).read_text() == MINE
    name = open_bundle(out).cells[0].name
    assert "/" in name.rpartition("/")[0]
    model = load_cell(out, name)
    assert "h=0.25" in str(model.integrator)
    (mine / "mine.py").rename(mine / "gone.py")
    try:
        assert_weights_reproduce_best(out, text)
    finally:
        (mine / "gone.py").rename(mine / "mine.py")
    (out / "integrators" / "mine.py").write_text(MINE + "\n")
    assert load_cell(out, name) is not None
    (mine / "mine.py").write_text("raise RuntimeError\n")
    try:
        with pytest.raises(UserError, match=r"mine\.py is not the file"):
            load_cell(out, name)
    finally:
        (mine / "mine.py").write_text(MINE)
        (out / "integrators" / "mine.py").write_text(MINE)


def test_changed_users_file_is_refused_on_resume(mine, config):
    variants = (f"{mine}/mine.py:Damped(h=0.25)",)
    (mine / "mine.py").write_text(MINE.replace("smaller", "much smaller"))
    try:
        with pytest.raises(UserError, match=r"mine\.py has changed since"):
            run(dc.replace(config, variants=variants, seeds=(0,)), mine / "run", resume=True)
    finally:
        (mine / "mine.py").write_text(MINE)


def test_mistake_in_the_last_variant_shows_before_the_first_trains(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    with pytest.raises(UserError, match=r"mine\.py:Crash does not run .*mend"):
        run(dc.replace(config, variants=("plain", "./mine.py:Crash")), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_notice_of_a_missing_null_model_is_one_line(monkeypatch, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    (variant,) = variants_of([f"{tmp_path}/mine.py:Damped"])

    def broken(*given, **named):
        raise TypeError("one\ntwo")

    monkeypatch.setattr(_grid, "null_of_checkpoint", broken)
    said = []
    grid: Any = SimpleNamespace(
        own=lambda variant: ExperimentConfig(model=MODEL), start=None, notify=said.append
    )
    assert _grid.Grid._nulls(grid, variant, None, {0: {}}) == {}
    assert said == [f"{variant.text} has no null model (TypeError: one)"]


def test_unknown_cell_names_those_there_are(whole):
    with pytest.raises(UserError, match=r"no cell 'plain/7': choose one of plain/0, ledger"):
        load_cell(whole, "plain/7")
    with pytest.raises(UserError, match="no cell 'plain'"):
        load_cell(whole, "plain")
    assert (
        load_cell(whole, "ledger-mu=0.8/1").integrator
        == load_cell(whole, "ledger(mu=0.8)/0").integrator
    )


def test_weights_of_another_vocabulary_are_refused(whole, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(whole, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["vocabulary"]["characters"] = "\n abcdf"
    (copy / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match="does not have the hash"):
        load_cell(copy, "plain/0")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: {k: v for k, v in w.items() if k != max(w)}, "lack"),
        (lambda w: w | {max(w): w[max(w)][:1]}, "has shape"),
        (lambda w: w | {"more": w[max(w)]}, "no parameter more"),
    ],
    ids=["fewer", "smaller", "more"],
)
def test_weights_that_do_not_fit_name_their_file(whole, tmp_path, change, words):
    shutil.copytree(whole, tmp_path / "copy")
    (file,) = (tmp_path / "copy").rglob("plain/0/best.safetensors")
    weights, metadata = read_weights(file)
    write_weights(file, change(weights), metadata)
    with pytest.raises(UserError, match=rf"best\.safetensors does not fit.*{words}.*restore it"):
        load_cell(tmp_path / "copy", "plain/0")


def test_stacked_seeds_give_the_cells_of_a_run_without(whole, config, tmp_path, monkeypatch):
    """Begun stacked, gone on without, broken off between the ends of two seeds, and stacked again.

    What is finished is left as it is.
    """
    out, said, labels = tmp_path / "run", [], []
    config = dc.replace(config, variants=("plain",))

    def labelled(label: str) -> SilentProgress:
        labels.append(label)
        return SilentProgress()

    def train(**given: Any) -> int:
        given = {"notify": said.append, "progress": labelled, **given}
        return run_experiment(config, out, **given)

    assert train(stack_seeds=True, stop_after=5) == 0
    assert {(cell.state, cell.step) for cell in open_bundle(out).cells} == {("stopped", 5)}
    assert not said
    assert train(stop_after=7, resume=True) == 0
    assert "seeds stacked in some sessions, not in others" in said[0]
    write_cell_, calls = _grid.write_cell, []

    def full(path, data):
        calls.append(path)
        # Both cells at steps 8 and 12, then at their ends: the second one's fails.
        if len(calls) == 6:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_cell_(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(_grid, "write_cell", full)
        with pytest.raises(UserError, match=r"could not save plain/1 .*no space left"):
            train(stack_seeds=True, resume=True)
    assert [cell.state for cell in open_bundle(out).cells] == ["finished", "interrupted"]
    assert train(stack_seeds=True, resume=True) == 0
    assert_close_results(whole, out)
    assert labels == ["plain/0, 1", "plain/0", "plain/1", "plain/0, 1", "plain/1"]
    sessions = open_bundle(out).manifest["sessions"]
    assert [session["stack_seeds"] for session in sessions] == [True, False, True, True]
