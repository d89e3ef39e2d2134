import math

import numpy as np
from hypothesis import given, strategies as st

from training.tiny import assert_same
from velocity_ledger.training import History
from velocity_ledger.training._history import Recorder, improves, stalled

LOSSES = st.lists(st.one_of(st.floats(0, 10), st.just(math.nan), st.just(math.inf)), max_size=8)


@given(LOSSES)
def test_improves_finds_the_lowest_finite_loss_in_any_order(losses: list[float]) -> None:
    best = None
    for loss in losses:
        if improves(loss, best):
            best = loss
    finite = [x for x in losses if math.isfinite(x)]
    assert best == (min(finite) if finite else None)


def test_improves_is_not_python_min() -> None:
    assert math.isnan(min(math.nan, 2.0)) and min(2.0, math.nan) == 2.0
    assert not improves(math.nan, 2.0) and not improves(math.nan, None)
    assert not improves(2.0, 2.0)


def test_stalled_counts_validations_since_the_best() -> None:
    assert not stalled([], 1)
    assert not stalled([3.0, 2.0, 1.0], 1)
    assert not stalled([1.0, 2.0], 2)
    assert stalled([1.0, 2.0], 1)
    assert stalled([1.0, 2.0, math.nan], 2)
    assert not stalled([1.0, 2.0, 3.0, 0.5], 2)
    assert not stalled([1.0, 2.0, 3.0, 4.0], None)


def test_arrays_and_back() -> None:
    recorder = Recorder()
    recorder.train_loss += [np.float32(1.5), np.float32(math.nan)]
    recorder.val_step.append(2)
    recorder.val_loss.append(0.1 + 0.2)
    recorder.telemetry[0] = {"path_length": np.ones(3, np.float32)}
    recorder.telemetry[10] = {"path_length": np.zeros(3, np.float32)}
    history = recorder.history()
    again = History.from_arrays(history.arrays())
    assert_same(again.arrays(), history.arrays())
    assert list(again.telemetry) == [0, 10]
    assert_same(Recorder(again).history().arrays(), history.arrays())


def test_a_history_does_not_change_when_more_is_recorded() -> None:
    recorder = Recorder()
    history = recorder.history()
    recorder.telemetry[1] = {}
    recorder.val_step.append(1)
    assert not history.telemetry and not len(history.val_step)
