"""Seeds trained side by side are the seeds trained alone, up to the rounding of sums."""

import dataclasses as dc
import json
import pathlib
import signal
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

from training.test_kills import LIVES
from training.test_traces import counting
from training.tiny import CONFIG, Tiny, TinyConfig, assert_same_run, make_data
from training.victim import die
from velocity_ledger.errors import UserError
from velocity_ledger.integrators import parse
from velocity_ledger.model import GPT, ModelConfig, dropout
from velocity_ledger.training import (
    LONGEST,
    Batching,
    Checkpoints,
    JsonlTracker,
    Run,
    Seed,
    SilentProgress,
    dropout_root,
    train,
    train_stacked,
    training_steps,
)

DATA = make_data()
SEEDS = (0, 1, 2)


def alone(seed: int, config: Any = CONFIG, **keywords: Any) -> Run:
    return train(Tiny(seed), DATA, config, seed=seed, **keywords)


def stacked(
    folder: pathlib.Path | None = None,
    config: Any = CONFIG,
    seeds: tuple[int, ...] = SEEDS,
    ends: Any = None,
    **keywords: Any,
) -> list[Run]:
    made = [
        Seed(
            Tiny(seed),
            seed,
            None if folder is None else folder / str(seed),
            on_end=None if ends is None else lambda run, seed=seed: ends.append((seed, run)),
        )
        for seed in seeds
    ]
    return train_stacked(made, DATA, config, **keywords)


def assert_close_run(a: Run, b: Run) -> None:
    """Two runs agree in what they did, and in numbers to what sums may be rounded."""
    assert (a.reason, a.signal, a.step, a.best_step) == (b.reason, b.signal, b.step, b.best_step)
    assert (a.last is None, a.best is None) == (b.last is None, b.best is None)
    one, other = a.history.arrays(), b.history.arrays()
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert value.shape == other[name].shape and value.dtype == other[name].dtype
        np.testing.assert_allclose(value, other[name], rtol=2e-5, atol=2e-6, err_msg=name)
    for first, second in ((a.best, b.best), (a.last, b.last)):
        pairs = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
        for x, y in pairs:
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5)


@pytest.fixture(scope="module")
def singles() -> list[Run]:
    return [alone(seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def whole() -> list[Run]:
    return stacked()


def test_each_seed_is_what_it_is_alone(singles: list[Run], whole: list[Run]) -> None:
    for one, other in zip(singles, whole, strict=True):
        assert_close_run(one, other)
    # Not the same seed three times.
    assert len({run.history.train_loss[3] for run in whole}) == 3


def test_the_same_call_gives_the_same_bits(whole: list[Run]) -> None:
    for one, other in zip(stacked(), whole, strict=True):
        assert_same_run(one, other)


def test_one_seed_is_train_itself(singles: list[Run]) -> None:
    (run,) = stacked(seeds=(1,))
    assert_same_run(run, singles[1])


class Masked(nnx.Module):
    """What dropout keeps of one parameter: where its gradient is not zero."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed).normal
        self.config = TinyConfig()
        self.value = nnx.Param(jnp.asarray(1 + draw(size=(4, 8, 7)) ** 2, jnp.float32))

    def __call__(self, tokens: Any, *, key: Any = None, record: Any = None) -> Any:
        del tokens, record
        return dropout(self.value[...], 0.4, key)


def _keep(updates: Any, state: Any, params: Any = None) -> Any:
    del state, params
    return jax.tree.map(jnp.zeros_like, updates), updates


KEEPER = optax.GradientTransformation(lambda params: jax.tree.map(jnp.zeros_like, params), _keep)


def test_masks_are_those_of_each_seed_alone_bit_for_bit() -> None:
    models = [Masked(seed) for seed in SEEDS]
    graphdef, _, rest = nnx.split(models[0], nnx.Param, ...)
    batching = Batching(8, 4, 4)
    ids = jnp.asarray(DATA.train)
    starts = np.random.default_rng(0).integers(0, 1700, (3, LONGEST, 4)).astype(np.int32)
    when = np.uint32(5), np.int32(3)

    def fresh() -> list[Any]:
        params = [nnx.to_pure_dict(nnx.state(model, nnx.Param)) for model in models]
        return [jax.tree.map(jnp.copy, p) for p in params]

    roots = [dropout_root(seed) for seed in SEEDS]
    together = training_steps(graphdef, KEEPER, batching, stacked=True)
    params = tuple(fresh())
    states = tuple(map(KEEPER.init, params))
    _, kept, losses = together(params, states, rest, ids, starts, tuple(roots), *when)
    one = training_steps(graphdef, KEEPER, batching)
    masks = []
    for i, own in enumerate(fresh()):
        _, wanted, loss = one(own, KEEPER.init(own), rest, ids, starts[i], roots[i], *when)
        mask = np.asarray(kept[i]["value"]) != 0
        np.testing.assert_array_equal(mask, np.asarray(wanted["value"]) != 0)
        assert 0.4 < mask.mean() < 0.8
        masks.append(mask.tobytes())
        np.testing.assert_allclose(losses[i][:3], loss[:3], rtol=1e-6)
        assert np.isnan(losses[i][3:]).all()
    assert len(set(masks)) == 3


GPT_CONFIG = ModelConfig(
    layers=1,
    width=8,
    heads=2,
    hidden=8,
    context=8,
    vocabulary=7,
    dropout=0.2,
    bias=False,
    unit_weights=True,
)


def test_learned_parameters_and_projected_weights() -> None:
    config = dc.replace(CONFIG, steps=12, telemetry_at=())

    def model(seed: int) -> GPT:
        return GPT(GPT_CONFIG, parse("ngpt-lite"), rngs=seed)

    assert model(0).integrator_parameters() and model(0).integrator is not None
    runs = train_stacked([Seed(model(seed), seed) for seed in SEEDS[:2]], DATA, config)
    for seed, run in enumerate(runs):
        assert_close_run(run, train(model(seed), DATA, config, seed=seed))
    # Without a bias no gradient is zero by design, so that Adam magnifies no rounding.
    weights = [nnx.to_pure_dict(run.last) for run in runs]
    moved = [w["blocks"][0]["integrator"] for w in weights]
    assert not all(jax.tree.leaves(jax.tree.map(np.array_equal, *moved)))
    norms = jnp.linalg.norm(weights[0]["token"]["embedding"], axis=-1)
    np.testing.assert_allclose(norms, 1, rtol=1e-5)


def test_an_optimizer_that_reads_the_loss() -> None:
    search = optax.chain(
        optax.sgd(1.0), optax.scale_by_backtracking_linesearch(max_backtracking_steps=4)
    )
    config = dc.replace(CONFIG, steps=5, telemetry_at=())
    for seed, run in enumerate(stacked(config=config, seeds=(0, 1), optimizer=search)):
        assert_close_run(run, alone(seed, config, optimizer=search))


PATIENT = dc.replace(CONFIG, steps=60, peak_rate=0.3, val_every=3, patience=2, telemetry_at=(0.0,))


def test_a_seed_that_ends_by_patience_leaves_the_others(tmp_path: pathlib.Path) -> None:
    ends: list[tuple[int, Run]] = []
    runs = stacked(tmp_path, PATIENT, ends=ends)
    wanted = [alone(seed, PATIENT) for seed in SEEDS]
    assert [run.step for run in runs] == [run.step for run in wanted]
    assert len({run.step for run in runs}) == 3 and {run.reason for run in runs} == {"patience"}
    for one, other in zip(runs, wanted, strict=True):
        assert one.best_step == other.best_step
        assert one.best_val == pytest.approx(other.best_val, rel=1e-3)
    # Each was told of when it ended.
    assert [seed for seed, _ in ends] == sorted(SEEDS, key=lambda seed: runs[seed].step)
    assert all(run is runs[seed] for seed, run in ends)


def test_each_number_of_seeds_is_traced_once() -> None:
    model, traces = counting(Tiny)
    kind = type(model)
    for compiles in (True, False):
        begin = time.perf_counter()
        runs = train_stacked([Seed(kind(seed), seed) for seed in SEEDS], DATA, PATIENT)
        took = time.perf_counter() - begin
        assert len({run.step for run in runs}) == 3
        # Each counts its share of the time, of which compiling is nearly all.
        counted = [run.compile_s + run.train_s for run in runs]
        assert min(counted) > 0 and sum(counted) <= took
        assert not compiles or sum(counted) > took / 3
    # Three, two, one.
    assert traces == {"step": 3, "evaluation": 1, "measurement": 1}


def test_seeds_at_different_steps_go_on_until_they_are_level(
    singles: list[Run], tmp_path: pathlib.Path
) -> None:
    for seed, steps in ((0, 13), (1, 7)):
        alone(seed, folder=tmp_path / str(seed), stop_after=steps)
    shown = Shown()
    runs = stacked(tmp_path, resume=True, progress=shown)
    for one, other in zip(runs, singles, strict=True):
        assert_close_run(one, other)
    assert shown.begun == [(0, 20)]


@pytest.mark.parametrize(
    "again", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["stacked", "alone"]
)
def test_interrupted_and_resumed(again: bool, singles: list[Run], tmp_path: pathlib.Path) -> None:
    left = [9]

    def ask() -> int | None:
        left[0] -= 1
        return 15 if left[0] < 0 else None

    cut = stacked(tmp_path, should_stop=ask)
    assert {(run.reason, run.signal, run.step) for run in cut} == {("interrupted", 15, cut[0].step)}
    assert 0 < cut[0].step < 20
    for seed in SEEDS:
        saved = Checkpoints(tmp_path / str(seed) / "checkpoint").steps()
        assert saved[-1] == cut[0].step
    runs = (
        stacked(tmp_path, resume=True)
        if again
        else [alone(seed, folder=tmp_path / str(seed), resume=True) for seed in SEEDS]
    )
    for one, other in zip(runs, singles, strict=True):
        assert_close_run(one, other)


def test_stop_after(tmp_path: pathlib.Path) -> None:
    runs = stacked(tmp_path, stop_after=8)
    for seed, run in enumerate(runs):
        assert_close_run(run, alone(seed, stop_after=8))


_ADAM = optax.adam(1e-2)


def _poison(updates: Any, state: Any, params: Any = None) -> Any:
    updates, adam = _ADAM.update(updates, state["adam"], params)
    bad = jnp.where(state["count"] == state["at"], jnp.nan, 0.0)
    updates = jax.tree.map(lambda u: u + bad, updates)
    return updates, {**state, "adam": adam, "count": state["count"] + 1}


def _poisoned(params: Any) -> Any:
    """Seed 1 gets no number at update 7, another never."""
    mine = bool(jnp.array_equal(params["embed"], Tiny(1).embed[...]))
    numbers = {"count": jnp.int32(0), "at": jnp.int32(7 if mine else -1)}
    return {"adam": _ADAM.init(params)} | numbers


def test_a_seed_that_diverges_leaves_the_others_alone(tmp_path: pathlib.Path) -> None:
    rule = optax.GradientTransformation(_poisoned, _poison)
    runs = stacked(tmp_path, seeds=(0, 1), optimizer=rule)
    assert [run.reason for run in runs] == ["finished", "diverged"]
    for seed, run in enumerate(runs):
        other = alone(seed, optimizer=rule)
        assert (run.reason, run.step, run.best_step) == (other.reason, other.step, other.best_step)
        np.testing.assert_allclose(run.history.train_loss, other.history.train_loss, rtol=1e-4)
    assert np.isfinite(runs[0].history.train_loss).all()


def logged(folder: pathlib.Path) -> list[Seed]:
    return [
        Seed(Tiny(s), s, folder / str(s), (JsonlTracker(folder / str(s) / "log.jsonl"),))
        for s in SEEDS
    ]


def live(folder: pathlib.Path, fatal: int) -> None:
    """Begin a run in `folder`; die at the save of that number."""
    save, saves = Checkpoints.save, [fatal]

    def struck(self: Any, *arguments: Any) -> None:
        saves[0] -= 1
        if not saves[0]:
            die()
        save(self, *arguments)

    setattr(Checkpoints, "save", struck)  # noqa: B010
    train_stacked(logged(folder), DATA, CONFIG)


def test_killed_between_two_seeds_saves(singles: list[Run], tmp_path: pathlib.Path) -> None:
    # Three saves at step 5, then seed 0's at step 10.
    process: Any = LIVES.Process(target=live, args=(tmp_path, 5), daemon=True)
    process.start()
    process.join(600)
    assert process.exitcode == -signal.SIGKILL
    newest = [Checkpoints(tmp_path / str(s) / "checkpoint").steps()[-1] for s in SEEDS]
    assert newest == [10, 5, 5]
    runs = train_stacked(logged(tmp_path), DATA, CONFIG, resume=True)
    for seed, (run, wanted) in enumerate(zip(runs, singles, strict=True)):
        assert_close_run(run, wanted)
        text = (tmp_path / str(seed) / "log.jsonl").read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        losses = [line["train_loss"] for line in lines if "train_loss" in line]
        np.testing.assert_array_equal(np.array(losses, np.float32), run.history.train_loss)


class Shown(SilentProgress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.begun: list[tuple[int, int]] = []
        self.told: list[dict[str, float]] = []
        self.busy_with: set[str] = set()

    def start(self, step: int, steps: int) -> None:
        self.begun.append((step, steps))

    def busy(self, text: str) -> None:
        self.busy_with.add(text)

    def update(self, step: int, **numbers: float) -> None:
        self.told.append({"step": step, **numbers})


def test_progress_is_that_of_all(tmp_path: pathlib.Path) -> None:
    shown = Shown()
    runs = stacked(tmp_path, progress=shown)
    assert shown.begun == [(0, 20)]
    assert shown.busy_with >= {"compiling", "validating", "measuring", "saving"}
    steps = [int(each["step"]) for each in shown.told]
    assert steps == sorted(steps) and steps[-1] == 20
    for each in shown.told:
        losses = [run.history.train_loss[int(each["step"]) - 1] for run in runs]
        assert each["loss"] == pytest.approx(float(np.mean(losses)), rel=1e-6)
        assert each["tokens_per_second"] > 0
    assert shown.told[-1]["seconds_left"] == 0 < shown.told[0]["seconds_left"]


class Calling(Tiny):
    """Asks Python for something, one seed at a time."""

    def __call__(self, tokens: Any, *, key: Any = None, record: Any = None) -> Any:
        like = jax.ShapeDtypeStruct((), jnp.float32)
        found = super().__call__(tokens, key=key, record=record)
        if key is None:
            return found
        gate = jax.lax.stop_gradient(self.gate[...][0])
        return found * jax.pure_callback(lambda x: np.float32(1), like, gate)


def test_what_cannot_be_stacked_is_refused_in_one_line() -> None:
    with pytest.raises(UserError, match=r"cannot be stacked .*: train them one after the other"):
        train_stacked([Seed(Calling(seed), seed) for seed in SEEDS], DATA, CONFIG)
    with pytest.raises(UserError, match="seeds 0 and 1 differ in more than the values"):
        others = Tiny(1, TinyConfig(dropout=0.1))
        train_stacked([Seed(Tiny(0), 0), Seed(others, 1)], DATA, CONFIG)


def test_mistakes_are_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(UserError, match="at least one seed"):
        train_stacked([], DATA, CONFIG)
    with pytest.raises(UserError, match="cannot share a folder"):
        train_stacked([Seed(Tiny(s), s, tmp_path) for s in (0, 1)], DATA, CONFIG)
    with pytest.raises(UserError, match="folder of every seed"):
        seeds = [Seed(Tiny(0), 0, tmp_path / "0"), Seed(Tiny(1), 1)]
        train_stacked(seeds, DATA, CONFIG, resume=True)
    with pytest.raises(UserError, match="seed is a whole number"):
        train_stacked([Seed(Tiny(0), 0), Seed(Tiny(1), -1)], DATA, CONFIG)
