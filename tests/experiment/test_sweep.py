"""Learning rates found by short trials, and cells added to a run."""

import dataclasses as dc
import errno
import json
from typing import Any

import numpy as np
import pytest

from small_run import LETTERS, MODEL, SIZES
from velocity_ledger.cli._parse import parse
from velocity_ledger.cli.verbs._convert import Convert
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import (
    ExperimentConfig,
    SweepConfig,
    _sweep,
    convert_cell,
    load_cell,
    open_bundle,
    run_experiment,
    summary,
    table,
)
from velocity_ledger.experiment._continued import trained
from velocity_ledger.experiment._sweep import in_small
from velocity_ledger.experiment._trials import (
    Trial,
    at_edge,
    at_rate,
    best_rate,
    means,
    read_trials,
)
from velocity_ledger.experiment._variants import as_recorded, variants_of
from velocity_ledger.training import SilentProgress, TrainingConfig

RATES = (1e-3, 1e-2, 1.0)
CONFIG = ExperimentConfig(
    model=MODEL,
    training=TrainingConfig(
        steps=8, warmup=2, val_every=4, checkpoint_every=8, telemetry_at=(1.0,), **SIZES
    ),
    variants=("plain", "ledger", "ledger(mu=0.5) with training.peak_rate=0.004"),
    seeds=(0, 1),
    sample=0,
    sweep=SweepConfig(rates=RATES, steps=4, seeds=(7,)),
)  # fmt: skip


def run(config, out, **given) -> int:
    return run_experiment(
        config, out, progress=lambda label: SilentProgress(),
        **{"notify": lambda message: None, **given},
    )  # fmt: skip


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> ExperimentConfig:
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    letters = np.random.default_rng(0).choice(list(LETTERS), 2000)
    path.write_text("".join(letters))
    return dc.replace(CONFIG, corpus=str(path))


@pytest.fixture(scope="module")
def swept(config, tmp_path_factory):
    out = tmp_path_factory.mktemp("swept") / "run"
    assert run(config, out) == 0
    return out


def test_every_variant_without_a_rate_of_its_own_is_tried_at_every_rate(swept):
    tried = {(t.variant, t.rate, t.seed) for t in read_trials(swept)}
    assert tried == {(v, r, 7) for v in ("plain", "ledger") for r in RATES}


def test_cells_run_at_the_rate_of_the_lowest_mean(swept):
    trials = read_trials(swept)
    for record in open_bundle(swept).variants[:2]:
        by = {t.rate: t.val or np.inf for t in trials if t.variant == record["text"]}
        assert record["peak_rate"] == min(by, key=lambda r: by[r])
        data = open_bundle(swept).datasets[record["text"], 0]
        training = json.loads(data.attrs["config"])["training"]
        assert training["peak_rate"] == record["peak_rate"]
        ratio = CONFIG.training.final_rate / CONFIG.training.peak_rate
        assert training["final_rate"] == pytest.approx(ratio * record["peak_rate"])


def test_the_rate_a_variant_sets_is_used(swept):
    assert open_bundle(swept).variants[2]["peak_rate"] == 0.004


def test_the_manifest_tells_how_each_cell_was_trained(swept):
    bundle = open_bundle(swept)
    for record in bundle.variants:
        found = trained(bundle.manifest, record["text"])
        told = json.loads(bundle.datasets[record["text"], 0].attrs["config"])
        assert json.loads(json.dumps(dc.asdict(found.training))) == told["training"]
    rates = {trained(bundle.manifest, v["text"]).training.peak_rate for v in bundle.variants}
    assert 0.004 in rates and len(rates) > 1


@pytest.mark.parametrize("k", [0, 2], ids=["swept", "its own"])
def test_a_conversion_goes_on_as_its_cell_was_trained(swept, tmp_path, k):
    record = open_bundle(swept).variants[k]
    cell, to = f"{record['slug']}/1", "ledger(mu=0.4)"
    out = tmp_path / "run"
    words: Any = {"progress": lambda label: SilentProgress(), "notify": lambda text: None}
    assert convert_cell(swept, cell, to, out, over=2, sample=0, stop_after=0, **words) == 0
    config = open_bundle(out).config
    assert config is not None and not config.sweep.rates
    assert config.training == trained(open_bundle(swept).manifest, record["text"]).training
    assert config.training.peak_rate == record["peak_rate"] != CONFIG.training.peak_rate
    # The command says the same, wherever its words stand and however they are written.
    for name in (cell, f"{record['text'].replace('0.004', '4e-3')}/1"):
        for line in (["convert", str(swept), name, "--to", to],
                     ["convert", "--to", to, str(swept), name]):  # fmt: skip
            options = parse(line)
            assert isinstance(options, Convert) and options.training == config.training


def test_what_a_run_recorded_of_a_variant_holds_whatever_its_name_means_now(swept):
    """A name may come to stand for other settings than when the run began."""
    record = {**open_bundle(swept).variants[2], "own": {"training.clip": 0.5}}
    (variant,) = as_recorded(variants_of([record["text"]]), [record])
    assert variant.configure(CONFIG).training == dc.replace(CONFIG.training, clip=0.5)
    with pytest.raises(UserError, match=r"training\.speed is no variant's own"):
        as_recorded([variant], [{**record, "own": {"training.speed": 1}}])


def test_a_trial_is_the_whole_schedule_in_small():
    small = in_small(CONFIG.training, 4)
    assert (small.steps, small.warmup, small.telemetry_at) == (4, 1, ())
    assert at_rate(CONFIG.training, 0.1).final_rate == pytest.approx(0.01)


def test_a_rate_that_diverges_on_one_seed_is_never_chosen():
    trials = [
        Trial("plain", 1.0, 0, 0.1), Trial("plain", 1.0, 1, None),
        Trial("plain", 0.5, 0, 3.0), Trial("plain", 0.5, 1, 2.0), Trial("plain", 0.1, 0, 2.7),
        Trial("ledger", 1.0, 0, None),
    ]  # fmt: skip
    assert means(trials, "plain") == {0.1: 2.7, 0.5: 2.5, 1.0: float("inf")}
    assert best_rate(trials, "plain") == 0.5 and not at_edge(trials, "plain")
    assert best_rate(trials, "ledger") is None


def test_a_sweep_that_was_interrupted_goes_on_where_it_stopped(config, swept, tmp_path):
    asked = iter(range(100))
    out = tmp_path / "run"
    # Asked before each trial and between steps: this stops within the third trial.
    import velocity_ledger.experiment._run as module

    class Signals:
        def __enter__(self):
            return lambda: 2 if next(asked) >= 12 else None

        def __exit__(self, *about):
            return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "stop_signals", Signals)
        assert run(config, out) == 130
    begun = read_trials(out)
    assert 0 < len(begun) < 6
    assert all(cell.state == "pending" for cell in open_bundle(out).cells)
    assert run(config, out, resume=True) == 0
    assert read_trials(out) == read_trials(swept)
    a, b = open_bundle(swept), open_bundle(out)
    assert [c.best_val for c in a.cells] == [c.best_val for c in b.cells]


def test_a_sweep_that_cannot_be_written_is_one_line(config, tmp_path, monkeypatch):
    def full(path, write):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_sweep, "write_aside", full)
    with pytest.raises(UserError, match=r"no space left on the disk.*--resume"):
        run(config, tmp_path / "out")
    # What it had begun can be gone on with.
    assert open_bundle(tmp_path / "out").cells[0].state == "pending"


def test_a_seed_of_the_run_is_refused_as_a_seed_of_the_sweep():
    with pytest.raises(UserError, match="seed 1 is of the run and of its sweep"):
        dc.replace(CONFIG, sweep=SweepConfig(rates=RATES, seeds=(1,)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rates": (1e-3,)}, "at least two"),
        ({"rates": (1e-3, -1.0)}, "above 0"),
        ({"rates": (1e-3, float("nan"))}, "above 0"),
        ({"rates": (1e-3, 1e-3)}, "twice"),
        ({"steps": 0}, "at least 1"),
        ({"seeds": ()}, "each once"),
    ],
)
def test_a_sweep_that_compares_nothing_is_refused(given, words):
    with pytest.raises(UserError, match=words):
        SweepConfig(**given)


@pytest.mark.parametrize("damage", ["{", '{"trials": [{"variant": 1}]}', '{"trials": 3}'])
def test_a_damaged_sweep_says_what_to_do(swept, tmp_path, damage):
    (tmp_path / "sweep.json").write_text(damage)
    with pytest.raises(UserError, match="delete it and resume"):
        read_trials(tmp_path)


def test_the_table_tells_the_budget_and_what_lies_at_the_edge(swept):
    text = table(open_bundle(swept))
    assert "the best of 0.001, 0.01 and 1 after 3 trials of 4 steps (384 tokens a variant)" in text
    edge = [v for v in ("plain", "ledger") if at_edge(read_trials(swept), v)]
    assert ("at the edge of the sweep" in text) == bool(edge)
    assert "ranks nothing" not in text
    assert "Not swept: ledger(mu=0.5)" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seeds": (0,)}, "One seed: this ranks nothing."),
        ({"sweep": SweepConfig()}, "One learning rate for all: a difference may be the rate's"),
        ({"seeds": (0,), "sweep": SweepConfig()}, "One seed and one learning rate for all"),
    ],
)
def test_one_seed_or_one_rate_ranks_nothing(config, synthetic, changes, words):
    given = dc.replace(config, variants=("plain", "ledger"), **changes)
    assert words in table(open_bundle(synthetic(config=given)))


@pytest.fixture(scope="module")
def added(swept, config, tmp_path_factory):
    import shutil

    out = tmp_path_factory.mktemp("added") / "run"
    shutil.copytree(swept, out)
    more = dc.replace(config, variants=("ledger(mu=0.3)", "plain"), seeds=(2,))
    assert run(more, out, add=True) == 0
    return out


def test_added_variants_and_seeds_complete_the_grid(added):
    bundle = open_bundle(added)
    texts = [v["text"] for v in bundle.variants]
    assert texts == [*CONFIG.variants, "ledger(mu=0.3)"]
    assert {(c.variant, c.seed) for c in bundle.cells} == {(t, s) for t in texts for s in (0, 1, 2)}
    assert all(c.state == "finished" for c in bundle.cells)
    assert {r.seeds for r in summary(bundle)} == {(0, 1, 2)}
    assert {t.variant for t in read_trials(added)} == {"plain", "ledger", "ledger(mu=0.3)"}


def test_what_was_there_stays_as_it_was(added, swept):
    for file in swept.glob("cells/*/*/weights.safetensors"):
        assert (added / file.relative_to(swept)).read_bytes() == file.read_bytes()
    kept = read_trials(added)[: len(read_trials(swept))]
    assert kept == read_trials(swept)


def test_an_added_cell_is_that_of_a_run_with_it_from_the_start(added, config, tmp_path):
    whole = dc.replace(config, variants=("plain", "ledger(mu=0.3)"), seeds=(2,))
    assert run(whole, tmp_path / "run") == 0
    a = load_cell(added, "ledger(mu=0.3)/2").export_weights()
    b = load_cell(tmp_path / "run", "ledger(mu=0.3)/2").export_weights()
    assert a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)


def test_what_differs_in_more_is_not_added(swept, config):
    other = dc.replace(config, variants=("rezero",), model=dc.replace(config.model, width=16))
    with pytest.raises(UserError, match=r"begun with model\.width 8, not 16"):
        run(other, swept, add=True)


def test_nothing_is_added_where_there_is_no_run(config, tmp_path):
    with pytest.raises(UserError, match="leave out --resume or --add"):
        run(config, tmp_path / "none", add=True)


def test_a_match_is_trained_and_compared_with(config, tmp_path):
    # What is measured is not asked for: two new shapes are enough to compile for.
    given = dc.replace(
        config, variants=("plain", "macaron"), seeds=(0,), match="params", sweep=SweepConfig(),
        training=dc.replace(config.training, telemetry_at=()),
    )  # fmt: skip
    said: list[str] = []
    assert run(given, tmp_path / "run", notify=said.append) == 0
    bundle = open_bundle(tmp_path / "run")
    plain, macaron, rival = summary(bundle)
    assert macaron.match == rival.variant and rival.variant.startswith("plain with model.width=")
    assert macaron.best_val is not None and rival.best_val is not None
    assert macaron.match_difference is not None
    assert macaron.match_difference.mean == pytest.approx(macaron.best_val - rival.best_val)
    assert plain.parameters is not None and rival.parameters is not None
    assert rival.parameters > plain.parameters
    assert any("matched by plain with model.width=" in line for line in said)
    assert f"{rival.variant} is plain made wider to match macaron" in table(bundle)
    assert run(given, tmp_path / "run", resume=True) == 0
