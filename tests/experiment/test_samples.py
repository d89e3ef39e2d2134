"""The text that each cell writes at its end, with the weights that are kept."""

import dataclasses as dc
import json
import pathlib
from typing import Any

import numpy as np
import pytest

from small_run import LETTERS, MODEL, SIZES
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import (
    PRESETS,
    ExperimentConfig,
    load_cell,
    open_bundle,
    run_experiment,
    vocabulary_of,
)
from velocity_ledger.experiment._cells import SAMPLE as NAME
from velocity_ledger.model import generate

QUIET: Any = {"notify": lambda message: None}


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> ExperimentConfig:
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    letters = np.random.default_rng(0).choice(list(LETTERS), 2000)
    path.write_text("".join(letters))
    smoke = PRESETS["smoke"]
    return dc.replace(
        smoke,
        model=MODEL,
        training=dc.replace(
            smoke.training, steps=4, warmup=1, val_every=2, checkpoint_every=2, **SIZES
        ),
        variants=("plain", "ledger"),
        corpus=str(path),
        sample=11,
    )


@pytest.fixture(scope="module")
def run(config, tmp_path_factory) -> pathlib.Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    assert run_experiment(config, out, **QUIET) == 0
    return out


def test_a_sample_is_what_the_kept_weights_write(run):
    bundle = open_bundle(run)
    assert set(bundle.samples) == {("plain", 0), ("ledger", 0)}
    vocabulary = vocabulary_of(bundle)
    for cell in bundle.cells:
        sample = bundle.samples[cell.variant, cell.seed]
        assert (sample["step"], sample["temperature"], sample["seed"]) == (cell.best_step, 0.8, 7)
        ids = vocabulary.encode(sample["prompt"])[None]
        drawn = generate(load_cell(run, cell.name), ids, length=11, temperature=0.8, seed=7)
        assert sample["text"] == vocabulary.decode(drawn[0])
        assert len(sample["text"]) == 11


def test_an_alphabet_without_the_published_prompt_begins_with_its_own_text(run, config):
    text = pathlib.Path(config.corpus).read_text()
    prompt = open_bundle(run).samples["plain", 0]["prompt"]
    assert prompt and prompt in text


def test_the_published_prompt_is_taken_where_it_can_be_spelled(config, tmp_path):
    path = tmp_path / "play.txt"
    path.write_text("ROMEO:\naaa\n" * 200)
    one = dc.replace(config, corpus=str(path), variants=("plain",))
    assert run_experiment(one, tmp_path / "run", **QUIET) == 0
    assert open_bundle(tmp_path / "run").samples["plain", 0]["prompt"] == "ROMEO:\n"


def test_a_resumed_run_writes_what_is_missing_and_the_same(run, config):
    (path,) = run.glob(f"cells/ledger/0/{NAME}")
    before = path.read_bytes()
    for damage in (path.unlink, lambda: path.write_text("{")):
        damage()
        assert ("ledger", 0) not in open_bundle(run).samples
        assert run_experiment(config, run, resume=True, **QUIET) == 0
        assert path.read_bytes() == before


def test_a_stopped_cell_has_a_sample_and_the_finished_one_another(config, tmp_path):
    out = tmp_path / "run"
    one = dc.replace(config, variants=("plain",))
    assert run_experiment(one, out, stop_after=2, **QUIET) == 0
    assert open_bundle(out).samples["plain", 0]["step"] == 2
    assert run_experiment(one, out, resume=True, **QUIET) == 0
    assert open_bundle(out).samples["plain", 0]["step"] == open_bundle(out).cells[0].best_step


def test_none_is_written_where_none_is_asked_for(config, tmp_path):
    one = dc.replace(config, variants=("plain",), sample=0)
    assert run_experiment(one, tmp_path / "run", **QUIET) == 0
    assert open_bundle(tmp_path / "run").samples == {}
    with pytest.raises(UserError, match="negative"):
        dc.replace(config, sample=-1)


def test_a_sample_that_fails_does_not_lose_the_cell(config, tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text(
        "from velocity_ledger import Info, Integrator\n"
        "class Mine(Integrator):\n"
        "    def step(self, field, stream, state, ctx):\n"
        "        f = field(stream)\n"
        "        return stream + f, state, Info(f, f, f)\n"
    )

    def fails(*args, **kwargs):
        raise ZeroDivisionError("no text")

    monkeypatch.setattr("velocity_ledger.experiment._sample.generate", fails)
    said: list[str] = []
    one = dc.replace(config, variants=(f"{path}:Mine",))
    assert run_experiment(one, tmp_path / "run", notify=said.append) == 0
    assert any("no sample" in message for message in said)
    assert [cell.state for cell in open_bundle(tmp_path / "run").cells] == ["finished"]


def test_a_sample_is_strict_json(run):
    for path in run.glob(f"cells/*/*/{NAME}"):
        assert set(json.loads(path.read_text(encoding="utf-8"))) == {
            "prompt", "text", "temperature", "top_k", "seed", "step",
        }  # fmt: skip
