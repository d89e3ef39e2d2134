"""Numbers of an integrator that move over training."""

import dataclasses as dc
import pathlib
from typing import Any

import numpy as np
import optax
import pytest

import velocity_ledger as vl
from training.tiny import Tiny, assert_same_run, make_data
from velocity_ledger.corpus import windows
from velocity_ledger.training import (
    Anneal,
    TrainingConfig,
    ValidationBatches,
    evaluate,
    train,
    validation_batches,
)

MODEL = vl.ModelConfig(layers=1, width=8, heads=1, hidden=8, context=8, vocabulary=7, dropout=0.0)
CONFIG = TrainingConfig(
    steps=6, batch=4, warmup=1, val_every=2, val_batches=2, checkpoint_every=2, telemetry_at=()
)
DATA = make_data()
RISE = Anneal.between(vl.plain(), vl.ledger(mu=0.9), 4)
TRACES = [0]


class Counted(vl.GPT):
    """Counts how often it is traced."""

    def __call__(self, tokens: Any, **given: Any) -> Any:
        TRACES[0] += 1
        return super().__call__(tokens, **given)


def model(integrator: vl.Integrator = RISE.start) -> Counted:
    return Counted(MODEL, integrator, rngs=0)


def run(anneal: Anneal = RISE, config: TrainingConfig = CONFIG, **given: Any) -> vl.Run:
    return train(model(), DATA, config, seed=0, anneal=anneal, **given)


def evaluated(integrator: vl.Integrator, params: Any = None) -> float:
    return evaluate(model(integrator), validation_batches(DATA.val, CONFIG, 8), params)


@pytest.fixture(scope="module")
def whole() -> vl.Run:
    return run()


@pytest.mark.parametrize("shape", ["linear", "cosine"])
def test_the_way_of_a_number(shape: str) -> None:
    rise = Anneal(vl.ledger(mu=0.1), vl.ledger(mu=0.9, h=3.0), 8, shape)
    at = [rise.numbers(step) for step in range(12)]
    assert [sorted(numbers) for numbers in at] == [["momentum.mu", "step_scale.h"]] * 12
    mu = np.array([numbers["momentum.mu"] for numbers in at])
    assert mu[0] == 0.1 and list(mu[8:]) == [0.9] * 4
    assert mu[4] == pytest.approx(0.5) and np.all(np.diff(mu[:9]) > 0)
    quarter = {"linear": 0.25, "cosine": (1 - np.cos(np.pi / 4)) / 2}[shape]
    assert mu[2] == pytest.approx(0.1 + 0.8 * quarter, rel=1e-12)
    assert at[8]["step_scale.h"] == 3.0
    assert [rise.arrived(step) for step in (0, 7, 8, 9)] == [False, False, True, True]


def test_a_way_of_no_steps_is_there_at_once() -> None:
    here = Anneal(vl.ledger(mu=0.0), vl.ledger(mu=0.9), 0)
    assert here.at(0) == vl.ledger(mu=0.9) and here.arrived(0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Anneal(vl.plain(), vl.ledger(), 3), "differ in more than numbers"),
        (lambda: Anneal(vl.ledger(), vl.ledger(), -1), "0 steps or more"),
        (lambda: Anneal(vl.ledger(), vl.ledger(), 3, "square"), "linear or cosine"),
        (lambda: run(dc.replace(RISE, steps=7)), "arrive after 7 steps, training ends after 6"),
        (
            lambda: train(Tiny(), DATA, CONFIG, seed=0, anneal=RISE),
            "the model has None: convert it first",
        ),
    ],
    ids=["structures", "negative", "shape", "late", "none"],
)
def test_what_cannot_move_is_told(make: Any, words: str) -> None:
    with pytest.raises(vl.UserError, match=words):
        make()


def test_moving_compiles_nothing() -> None:
    run()
    before = TRACES[0]
    run(Anneal(vl.ledger(mu=0.3), vl.ledger(mu=-0.2, h=0.5), 6, "cosine"))
    assert TRACES[0] == before


def test_every_update_is_made_at_the_number_of_its_step() -> None:
    """A rate of 0 keeps the weights: only the number changes from loss to loss, and the tokens."""
    rise = dc.replace(RISE, steps=3)
    found = run(rise, optimizer=optax.sgd(0.0), stop_after=5).history.train_loss
    for step, loss in enumerate(found):
        tokens = windows(DATA.train, batch=4, context=8, seed=0, step=step)
        batch = ValidationBatches(tokens[None], np.ones((1, 4, 8), bool))
        losses = [evaluate(model(at), batch) for at in (rise.at(step), vl.ledger(mu=0.45))]
        assert float(loss) == pytest.approx(losses[0], abs=2e-6)
        assert abs(float(loss) - losses[1]) > 1e-4


def test_a_validation_is_made_at_the_number_of_its_step(whole: vl.Run) -> None:
    assert list(whole.history.val_step) == [0, 2, 4, 6]
    assert whole.history.val_loss[0] == evaluated(vl.plain())
    half = run(stop_after=2)
    assert half.history.val_loss[-1] == pytest.approx(evaluated(RISE.at(2), half.last), abs=1e-6)
    assert abs(half.history.val_loss[-1] - evaluated(RISE.end, half.last)) > 1e-4
    assert half.best is None and half.best_val is None


def test_the_best_is_that_of_the_end(whole: vl.Run) -> None:
    """The start validates better than what the number makes of it: it must not be taken."""
    still = run(optimizer=optax.sgd(0.0))
    losses = dict(zip(still.history.val_step, still.history.val_loss, strict=True))
    assert still.best_step == 4 and still.best_val == losses[4]
    for found in (whole, still):
        assert found.best_val == pytest.approx(evaluated(RISE.end, found.best), abs=1e-6)


def test_patience_counts_from_the_end() -> None:
    patient = dc.replace(CONFIG, patience=1, steps=8)
    still = run(config=patient, optimizer=optax.sgd(0.0))
    # Validations after 4 and 6 steps are the first two that count, and the second is no better.
    assert (still.reason, still.step) == ("patience", 6)


@pytest.mark.parametrize("stop", [1, 3])
def test_a_resumed_run_is_the_run(whole: vl.Run, stop: int, tmp_path: pathlib.Path) -> None:
    run(folder=tmp_path, stop_after=stop)
    assert_same_run(run(folder=tmp_path, resume=True), whole)


def test_another_way_is_not_resumed(tmp_path: pathlib.Path) -> None:
    run(folder=tmp_path, stop_after=2)
    with pytest.raises(vl.UserError, match=r"another anneal \(ledger\(mu=0\.0\) to ledger over 4"):
        run(dc.replace(RISE, steps=3), folder=tmp_path, resume=True)


def test_falling_to_zero_ends_as_plain() -> None:
    fall = Anneal.between(vl.ledger(mu=0.9), vl.plain(), 4)
    end = train(model(fall.start), DATA, CONFIG, seed=0, anneal=fall)
    assert evaluated(fall.end, end.last) == evaluated(vl.plain(), end.last)
    assert end.best_val == pytest.approx(evaluated(vl.plain(), end.best), abs=1e-7)
