import dataclasses as dc
import hashlib
import json
import os
import pathlib
import shutil
import signal
from typing import Any

import jax
import numpy as np
import optax
import pytest
from flax import nnx

from training.tiny import (
    CONFIG,
    TRACES,
    Tiny,
    TinyConfig,
    assert_same,
    assert_same_run,
    make_data,
    poisoned,
)
from velocity_ledger.errors import UserError
from velocity_ledger.experiment._config import FOUR
from velocity_ledger.integrators import parse
from velocity_ledger.model import GPT, ModelConfig
from velocity_ledger.training import (
    Checkpoints,
    Data,
    JsonlTracker,
    Run,
    Snapshot,
    evaluate,
    train,
    validation_batches,
)
from velocity_ledger.training._loop import Loop

DATA = make_data()


def run(folder: pathlib.Path | None = None, config: Any = CONFIG, **keywords: Any) -> Run:
    return train(Tiny(), DATA, config, seed=keywords.pop("seed", 0), folder=folder, **keywords)


@pytest.fixture(scope="module")
def whole() -> Run:
    """The run that nothing interrupted."""
    return run()


def stopper(calls: int, number: int = 2) -> Any:
    """A signal that arrives at the given query."""
    left = [calls]

    def ask() -> int | None:
        left[0] -= 1
        return number if left[0] < 0 else None

    return ask


def reproduces(result: Run, config: Any = CONFIG) -> bool:
    batches = validation_batches(DATA.val, config, 8)
    assert result.best_val is not None
    return abs(evaluate(Tiny(), batches, result.best) - result.best_val) <= 1e-6


def test_a_finished_run(whole: Run) -> None:
    assert (whole.reason, whole.signal, whole.step) == ("finished", None, 20)
    assert whole.history.train_loss.dtype == np.float32 and len(whole.history.train_loss) == 20
    assert list(whole.history.val_step) == [6, 12, 18, 20]
    assert list(whole.history.telemetry) == [0, 2, 10, 20]
    assert whole.best_val == whole.history.val_loss.min()
    assert whole.best_step == whole.history.val_step[whole.history.val_loss.argmin()]
    assert whole.history.train_loss[-5:].mean() < whole.history.train_loss[:5].mean()
    assert reproduces(whole)
    assert whole.compile_s > 0 and whole.train_s > 0 and whole.tokens_per_second > 0


def test_every_seed_draws_its_own_windows_and_dropout(whole: Run) -> None:
    others = [run(seed=seed, stop_after=2) for seed in (1, 4295, 2**31, 2**32 - 1)]
    losses = [whole.history.train_loss[1]] + [other.history.train_loss[1] for other in others]
    assert len(set(losses)) == 5


def test_two_runs_are_the_same_and_the_second_compiles_nothing(whole: Run) -> None:
    # Not counted on from the test before: between two tests all programs may be let go.
    assert_same_run(run(), whole)
    before = TRACES[0]
    assert_same_run(run(), whole)
    assert TRACES[0] == before


def test_the_number_of_traces_does_not_depend_on_the_steps() -> None:
    run(stop_after=1)  # evaluation and measurement, shared by all runs, are traced before
    counts = []
    for steps in (6, 18):
        before = TRACES[0]
        run(config=dc.replace(CONFIG, steps=steps))
        counts.append(TRACES[0] - before)
    assert counts[0] == counts[1] > 0


def test_the_model_keeps_its_weights() -> None:
    model = Tiny()
    before = jax.device_get(nnx.to_pure_dict(nnx.state(model, nnx.Param)))
    result = train(model, DATA, CONFIG, seed=0, stop_after=2)
    assert_same(nnx.to_pure_dict(nnx.state(model, nnx.Param)), before)
    nnx.update(model, result.last)
    assert_same(nnx.state(model, nnx.Param), result.last)


def test_validation_is_the_same_for_every_training_seed() -> None:
    # A rate of 0 keeps the weights, so only the tokens could differ.
    still = optax.sgd(0.0)
    losses = [run(seed=s, optimizer=still, stop_after=6).history.val_loss for s in (0, 1)]
    assert_same(losses[0], losses[1])


# How a run may end, and that it can go on as if it never had


def test_stop_after_off_the_grid_is_judged_there_and_forgotten_later(
    whole: Run, tmp_path: pathlib.Path
) -> None:
    stopped = run(tmp_path, stop_after=14)
    assert (stopped.reason, stopped.step) == ("stopped", 14)
    assert list(stopped.history.val_step) == [6, 12, 14]
    assert list(stopped.history.telemetry) == [0, 2, 10, 14]
    assert reproduces(stopped)
    assert_same(stopped.history.train_loss, whole.history.train_loss[:14])
    assert_same_run(run(tmp_path, stop_after=14, resume=True), stopped)
    assert_same_run(run(tmp_path, resume=True), whole)
    assert_same_run(run(tmp_path, resume=True), whole)


@pytest.mark.parametrize("step", [0, 1, 5, 6, 7, 12, 20])
def test_stop_after_any_step(step: int, whole: Run, tmp_path: pathlib.Path) -> None:
    stopped = run(tmp_path, stop_after=step)
    assert stopped.step == step and stopped.reason == ("finished" if step == 20 else "stopped")
    assert stopped.history.val_step[-1] == step and max(stopped.history.telemetry) == step
    assert len(set(stopped.history.val_step)) == len(stopped.history.val_step)
    assert reproduces(stopped)
    assert_same_run(run(tmp_path, resume=True), whole)


@pytest.mark.parametrize(
    ("calls", "number"),
    [
        (0, signal.SIGINT),
        (4, signal.SIGTERM),
        (5, signal.SIGINT),
        (6, signal.SIGTERM),
        (13, signal.SIGINT),
    ],
)
def test_interrupted_and_resumed(
    calls: int, number: int, whole: Run, tmp_path: pathlib.Path
) -> None:
    cut = run(tmp_path, should_stop=stopper(calls, int(number)))
    assert (cut.reason, cut.signal, cut.step) == ("interrupted", number, calls)
    assert len(cut.history.train_loss) == calls
    assert set(cut.history.val_step) <= {6, 12, 18, 20}
    assert (cut.best is None) == (calls < 6)
    assert cut.best is None or reproduces(cut)
    assert_same_run(run(tmp_path, resume=True), whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_real_signal_saves_and_ends(number: int, whole: Run, tmp_path: pathlib.Path) -> None:
    def strike(snapshot: Snapshot) -> None:
        if snapshot.step == 10:
            os.kill(os.getpid(), number)

    cut = run(tmp_path, on_save=strike)
    assert (cut.reason, cut.signal, cut.step) == ("interrupted", number, 10)
    assert_same_run(run(tmp_path, resume=True), whole)


def test_cut_many_times(whole: Run, tmp_path: pathlib.Path) -> None:
    for _ in range(12):
        result = run(tmp_path, resume=True, should_stop=stopper(2))
        if result.reason == "finished":
            break
    assert_same_run(result, whole)  # pyright: ignore[reportPossiblyUnboundVariable]


def all_parts_in_one() -> list[Any]:
    """The four; what three of them are made of is in the last, a velocity, a sphere and alpha."""
    return [v if v == "ngpt-ledger" else pytest.param(v, marks=pytest.mark.slow) for v in FOUR]


@pytest.mark.parametrize("variant", all_parts_in_one())
def test_every_named_variant_resumes_bit_for_bit(variant: str, tmp_path: pathlib.Path) -> None:
    shape = ModelConfig(layers=1, width=8, heads=2, hidden=8, context=8, dropout=0.3, vocabulary=7)
    config = dc.replace(CONFIG, steps=8, val_every=3, checkpoint_every=3, telemetry_at=(0.0, 1.0))

    def life(folder: pathlib.Path, **keywords: Any) -> Run:
        model = GPT(shape, parse(variant), rngs=0)
        return train(model, DATA, config, seed=0, folder=folder, **keywords)

    wanted = life(tmp_path / "whole")
    life(tmp_path / "cut", stop_after=4)
    life(tmp_path / "cut", resume=True, should_stop=stopper(1))
    assert_same_run(life(tmp_path / "cut", resume=True), wanted)
    model = GPT(shape, parse(variant), rngs=1)
    nnx.update(model, wanted.best)
    loss = evaluate(model, validation_batches(DATA.val, config, 8))
    assert loss == pytest.approx(wanted.best_val, abs=1e-6)
    assert set(wanted.history.telemetry) == {0, 8}


def overfitting() -> Any:
    """Learns for a while, then climbs: validation is best in the middle."""
    schedule = lambda i: np.float32(1.0) * (0.3 - 0.6 * (i >= 9))  # noqa: E731
    return optax.sgd(schedule)


def test_patience_keeps_the_best_and_stops_the_same_way_again(tmp_path: pathlib.Path) -> None:
    config = dc.replace(CONFIG, val_every=3, patience=2)
    tx = overfitting()
    result = run(tmp_path, config, optimizer=tx)
    assert result.reason == "patience" and result.step < 20
    assert result.best_step == result.step - 6
    assert result.best_val == result.history.val_loss.min() < result.history.val_loss[-1]
    assert reproduces(result, config)
    assert max(result.history.telemetry) == result.step
    assert_same_run(run(tmp_path, config, optimizer=tx, resume=True), result)


def test_best_is_a_copy_that_later_steps_do_not_touch() -> None:
    result = run(optimizer=overfitting(), config=dc.replace(CONFIG, val_every=3))
    assert result.reason == "finished" and result.best_step in (3, 6, 9, 12)
    assert reproduces(result)


@pytest.mark.parametrize(
    ("at", "value"), [*((at, np.nan) for at in (7, 8, 9, 10, 11, 17)), (8, np.inf), (9, np.inf)]
)
def test_divergence_keeps_the_best(at: int, value: float, tmp_path: pathlib.Path) -> None:
    tx = poisoned(at, value)
    result = run(tmp_path, optimizer=tx)
    assert (result.reason, result.signal, result.last) == ("diverged", None, None)
    # Update `at` spoils the weights, the next loss shows it, unless a save or validation does.
    assert result.step == (at + 1 if at + 1 in (10, 12, 18) else at + 2)
    assert len(result.history.train_loss) == result.step
    assert result.best_step == (12 if at > 12 else 6) and reproduces(result)
    newest = Checkpoints(tmp_path / "checkpoint").steps()[-1]
    assert newest <= at
    assert_same_run(run(tmp_path, optimizer=tx, resume=True), result)


def test_divergence_before_any_validation_has_no_best() -> None:
    result = run(optimizer=poisoned(1))
    assert (result.reason, result.best_step, result.best_val) == ("diverged", None, None)
    assert result.best is None and not len(result.history.val_step)


def test_divergence_at_the_very_end_is_seen() -> None:
    result = run(optimizer=poisoned(19))
    assert (result.reason, result.step) == ("diverged", 20)
    assert result.best_step == 18 and reproduces(result)


def test_weights_that_are_not_finite_are_not_saved_on_interrupt(tmp_path: pathlib.Path) -> None:
    result = run(tmp_path, optimizer=poisoned(7), should_stop=stopper(8))
    assert (result.reason, result.step) == ("diverged", 8)
    assert Checkpoints(tmp_path / "checkpoint").steps() == [5]


# Small schedules, other grids


@pytest.mark.parametrize("steps", [1, 5])
def test_a_schedule_shorter_than_every_interval(steps: int, tmp_path: pathlib.Path) -> None:
    said: list[str] = []
    config = dc.replace(CONFIG, steps=steps, warmup=200, telemetry_at=(0.0, 1.0))
    result = run(tmp_path, config, notify=said.append)
    assert result.reason == "finished" and list(result.history.val_step) == [steps]
    assert list(result.history.telemetry) == [0, steps]
    assert Checkpoints(tmp_path / "checkpoint").steps() == [steps]
    assert len(said) == 1 and "warm-up shortened from 200" in said[0]


def test_no_telemetry_where_none_is_asked_for() -> None:
    assert not run(config=dc.replace(CONFIG, telemetry_at=())).history.telemetry


def test_the_whole_split_can_be_validated() -> None:
    config = dc.replace(CONFIG, val_batches=0)
    result = run(config=config)
    assert validation_batches(DATA.val, config, 8).predictions == len(DATA.val) - 1
    assert reproduces(result, config)


# What is told to others


def test_snapshots_follow_every_checkpoint(whole: Run, tmp_path: pathlib.Path) -> None:
    seen: list[Snapshot] = []
    run(tmp_path, on_save=seen.append)
    assert [s.step for s in seen] == [5, 10, 15, 20]
    assert seen[0].best is None and seen[0].best_val is None
    assert seen[1].best_step == 6 and len(seen[1].history.train_loss) == 10
    for snapshot in seen[1:]:
        loss = evaluate(Tiny(), validation_batches(DATA.val, CONFIG, 8), snapshot.best)
        assert loss == pytest.approx(snapshot.best_val, abs=1e-6)
    assert_same(seen[-1].history.arrays(), whole.history.arrays())


def lines(path: pathlib.Path) -> list[dict[str, float]]:
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    return [{k: v for k, v in e.items() if k != "tokens_per_second"} for e in entries]


def test_the_log_of_a_resumed_run_is_that_of_one_run(whole: Run, tmp_path: pathlib.Path) -> None:
    one, two = JsonlTracker(tmp_path / "one.jsonl"), JsonlTracker(tmp_path / "two.jsonl")
    run(trackers=[one])
    run(tmp_path, trackers=[two], stop_after=8)
    assert any("closing_val_loss" in line for line in lines(two.path))
    run(tmp_path, trackers=[two], resume=True, should_stop=stopper(3))
    run(tmp_path, trackers=[two], resume=True)
    assert lines(two.path) == lines(one.path)
    losses = [line["train_loss"] for line in lines(one.path) if "train_loss" in line]
    assert losses == [float(x) for x in whole.history.train_loss]
    assert sum("path_length" in line for line in lines(one.path)) == 4


class Shown:
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def start(self, step: int, steps: int) -> None:
        self.calls.append((step, steps))

    def busy(self, text: str) -> None:
        self.calls.append(text)

    def update(self, step: int, **values: float) -> None:
        self.calls.append((step, values["seconds_left"]))

    def stop(self) -> None:
        self.calls.append("stop")


def test_progress_is_told(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, ends, took = Shown(), [], Loop.took

    def seen(self: Any, *found: Any) -> None:
        ends.append(self.step + found[-1])
        took(self, *found)

    monkeypatch.setattr(Loop, "took", seen)
    run(tmp_path, progress=shown, stop_after=10)
    assert shown.calls[0] == (0, 10) and shown.calls[-1] == "stop"
    steps = [c[0] for c in shown.calls[1:] if isinstance(c, tuple)]
    # One line a call, told of its last step; a call ends at the latest where something is due.
    assert steps == ends and steps[-1] == 10
    assert {2, 5, 6, 10} <= set(steps)
    assert shown.calls[-2] == "saving"
    assert {"compiling", "validating", "measuring"} <= {c for c in shown.calls if type(c) is str}
    resumed = Shown()
    run(tmp_path, progress=resumed, resume=True)
    assert resumed.calls[0] == (10, 20)


def test_an_exception_stops_what_was_started(tmp_path: pathlib.Path) -> None:
    shown, tracker = Shown(), JsonlTracker(tmp_path / "log.jsonl")
    before = signal.getsignal(signal.SIGINT)

    def fail(snapshot: Snapshot) -> None:
        raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError, match="on fire"):
        run(tmp_path, on_save=fail, progress=shown, trackers=[tracker])
    assert shown.calls[-1] == "stop" and tracker._file is None
    assert signal.getsignal(signal.SIGINT) is before


# What is refused


def test_a_folder_in_use_is_refused(tmp_path: pathlib.Path) -> None:
    run(tmp_path, stop_after=5)
    with pytest.raises(UserError, match="holds the checkpoint of step 5"):
        run(tmp_path)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"config": dc.replace(CONFIG, steps=30)}, "steps"),
        ({"config": dc.replace(CONFIG, telemetry_at=(0.0,))}, "telemetry_at"),
        ({"seed": 1}, "seed"),
        ({"optimizer": optax.sgd(0.1)}, "optimizer"),
    ],
)
def test_another_run_is_refused_naming_the_field(
    changes: dict[str, Any], field: str, tmp_path: pathlib.Path
) -> None:
    run(tmp_path, stop_after=5)
    with pytest.raises(UserError, match=field):
        run(tmp_path, resume=True, **changes)


def test_a_checkpoint_from_before_a_setting_has_its_default(tmp_path: pathlib.Path) -> None:
    part = run(tmp_path, stop_after=5)
    (path,) = tmp_path.glob("checkpoint/step_*/state.json")
    state = json.loads(path.read_text())
    for name in ("beta1", "beta2", "model.dropout"):
        del state["run"][name]
    path.write_text(json.dumps(state))
    assert_same_run(run(tmp_path, resume=True, stop_after=5), part)
    with pytest.raises(UserError, match=r"another beta2 \(0.999, not 0.95\)"):
        run(tmp_path, dc.replace(CONFIG, beta2=0.95), resume=True)


def test_another_corpus_is_refused(tmp_path: pathlib.Path) -> None:
    run(tmp_path, stop_after=5)
    with pytest.raises(UserError, match="train_ids"):
        train(Tiny(), make_data(1), CONFIG, seed=0, folder=tmp_path, resume=True)


@pytest.mark.parametrize(
    ("mu", "dropout", "field"),
    [(0.9, 0.5, r"model\.dropout \(0.1, not 0.5\)"), (0.1, 0.1, r"integrator \(ledger, not ")],
)
def test_a_model_of_the_same_shapes_is_refused_naming_the_field(
    mu: float, dropout: float, field: str, tmp_path: pathlib.Path
) -> None:
    def begin(mu: float, dropout: float, **keywords: Any) -> Run:
        shape = ModelConfig(layers=1, width=4, heads=1, hidden=4, context=8, vocabulary=7)
        model = GPT(dc.replace(shape, dropout=dropout), parse(f"ledger(mu={mu})"), rngs=0)
        config = dc.replace(CONFIG, telemetry_at=())
        return train(model, DATA, config, seed=0, folder=tmp_path, **keywords)

    begin(0.9, 0.1, stop_after=1)
    with pytest.raises(UserError, match=field):
        begin(mu, dropout, resume=True)
    assert begin(0.9, 0.1, resume=True, stop_after=1).step == 1


def test_the_ids_are_hashed_once_a_run(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[int] = []

    class Counted:
        @staticmethod
        def sha256(data: bytes) -> Any:
            hashed.append(len(data))
            return hashlib.sha256(data)

    monkeypatch.setattr("velocity_ledger.training._identity.hashlib", Counted)
    run(tmp_path)
    assert sorted(hashed) == [4 * len(DATA.val), 4 * len(DATA.train)]


@pytest.mark.parametrize("damage", ["truncated", "without train_loss", "without times"])
def test_a_damaged_checkpoint_can_be_deleted(damage: str, tmp_path: pathlib.Path) -> None:
    run(tmp_path, stop_after=10)
    newest = tmp_path / "checkpoint" / "step_00000010"
    history, state = newest / "history.npz", newest / "state.json"
    if damage == "truncated":
        history.write_bytes(history.read_bytes()[:-30])
    elif damage == "without train_loss":
        np.savez(history, val_step=np.zeros(0))
    else:
        state.write_text(json.dumps({**json.loads(state.read_text()), "times": {}}))
    with pytest.raises(UserError, match=r"10 is damaged .*delete that .* from the one of step 5"):
        run(tmp_path, resume=True)
    shutil.rmtree(newest)
    assert run(tmp_path, resume=True, stop_after=6).step == 6


def test_an_unwritable_folder_is_refused_before_step_1(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    shown = Shown()
    with pytest.raises(UserError, match="cannot write"):
        run(tmp_path / "file", progress=shown)
    assert not shown.calls


@pytest.mark.parametrize("seed", [-1, 2**32, 2**32 + 1])
def test_a_seed_that_would_wrap_is_refused(seed: int) -> None:
    with pytest.raises(UserError, match="seed"):
        run(seed=seed)


def test_other_mistakes_are_named() -> None:
    with pytest.raises(UserError, match="stop_after"):
        run(stop_after=-1)
    with pytest.raises(UserError, match="folder"):
        run(resume=True)
    with pytest.raises(UserError, match=r"ids from 0 to 6.*has 0 to 4"):
        train(Tiny(config=TinyConfig(vocabulary=5)), DATA, CONFIG, seed=0)
    with pytest.raises(UserError, match="validation split holds ids from -1"):
        train(Tiny(), Data(DATA.train, DATA.val - 1), CONFIG, seed=0)
    with pytest.raises(UserError):
        train(Tiny(), Data(DATA.train[:8], DATA.val), CONFIG, seed=0)
    with pytest.raises(UserError):
        train(Tiny(), Data(DATA.train, DATA.val[:8]), CONFIG, seed=0)
