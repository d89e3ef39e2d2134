"""A whole run traces its three programs once each: the step, the evaluation, the measurement."""

import dataclasses as dc
from collections import Counter
from typing import Any

import pytest

from training.tiny import CONFIG, Tiny, TinyConfig, make_data
from velocity_ledger.integrators import ledger
from velocity_ledger.model import GPT, ModelConfig
from velocity_ledger.training import LONGEST, train
from velocity_ledger.training._loop import Loop

DATA = make_data()
# Intervals that no common number of steps divides; the run ends off all of them.
BUSY = dc.replace(
    CONFIG, steps=23, val_every=5, checkpoint_every=7, telemetry_at=(0.0, 0.1, 0.3, 0.5, 0.8, 1.0)
)
ONCE = {"step": 1, "evaluation": 1, "measurement": 1}


def counting(model: type, *arguments: Any, **keywords: Any) -> tuple[Any, Counter[str]]:
    """A model of a type of its own, whose programs nobody has traced, and what traces it."""
    traces: Counter[str] = Counter()

    class Counting(model):  # pyright: ignore[reportGeneralTypeIssues]
        def __call__(self, tokens: Any, *, key: Any = None, record: Any = None) -> Any:
            use = "measurement" if record else "evaluation" if key is None else "step"
            traces[use] += 1
            return super().__call__(tokens, key=key, record=record)

    return Counting(*arguments, **keywords), traces


def tiny() -> tuple[Any, Counter[str]]:
    return counting(Tiny)


def gpt(scan: bool) -> tuple[Any, Counter[str]]:
    config = ModelConfig(
        layers=2, width=8, heads=2, hidden=8, context=8, vocabulary=7, scan=scan, dropout=0.1
    )
    return counting(GPT, config, ledger(), rngs=0)


@pytest.mark.parametrize(
    "make",
    [tiny, lambda: gpt(scan=False), pytest.param(lambda: gpt(scan=True), marks=pytest.mark.slow)],
    ids=["tiny", "gpt", "scanned-gpt"],
)
def test_a_whole_run_traces_each_program_once(make: Any, tmp_path: Any) -> None:
    model, traces = make()
    run = train(model, DATA, BUSY, seed=0, folder=tmp_path / "whole")
    assert (run.step, len(run.history.val_step), len(run.history.telemetry)) == (23, 5, 6)
    assert traces == ONCE
    # Another seed, a shorter end and a resumed run are the same programs.
    train(model, DATA, BUSY, seed=1, folder=tmp_path / "cut", stop_after=11)
    train(model, DATA, BUSY, seed=1, folder=tmp_path / "cut", resume=True)
    assert traces == ONCE


def test_quick_steps_go_several_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    took = Loop.took

    def seen(self: Any, params: Any, state: Any, losses: Any, count: int) -> None:
        counts.append(count)
        took(self, params, state, losses, count)

    monkeypatch.setattr(Loop, "took", seen)
    quick = dc.replace(CONFIG, steps=150, val_every=150, checkpoint_every=150, telemetry_at=())
    model, traces = tiny()
    run = train(model, DATA, quick, seed=0)
    assert sum(counts) == 150 == len(run.history.train_loss)
    assert len(counts) < 75 and max(counts) <= LONGEST
    assert traces == {"step": 1, "evaluation": 1}


def test_the_count_can_tell() -> None:
    """Windows of another length are another program."""
    model, traces = tiny()
    train(model, DATA, BUSY, seed=0, stop_after=2)
    model.config = TinyConfig(context=4)
    train(model, DATA, BUSY, seed=0, stop_after=2)
    assert traces == {name: 2 for name in ONCE}
