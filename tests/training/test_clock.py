"""Calls are as long as this process's last steps allow, whatever a checkpoint says of others."""

import types
from typing import Any

import jax.numpy as jnp
import pytest

from training.tiny import CONFIG, Tiny, make_data
from velocity_ledger.training import TrainingConfig, optimizer
from velocity_ledger.training._clock import Clock
from velocity_ledger.training._loop import CALL_SECONDS, IN_FLIGHT, Loop
from velocity_ledger.training._step import LONGEST

LONG = TrainingConfig(
    **{"steps": 10**6, "batch": 4, "val_every": 10**6, "checkpoint_every": 10**6},
    telemetry_at=(),
)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A time that passes where it is told to."""
    made = types.SimpleNamespace(now=100.0)
    made.perf_counter = lambda: made.now
    monkeypatch.setattr("velocity_ledger.training._clock.time", made)
    return made


class Device:
    """Does the steps of a loop in so many seconds each, one after the other."""

    def __init__(self, time: Any, loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time, self.loop, self.seconds = time, loop, 0.0
        self.ends = [time.now]
        receive = loop._receive

        def waited() -> None:
            time.now = max(time.now, self.ends[-len(loop.pending)])
            receive()

        monkeypatch.setattr(loop, "_receive", waited)
        loop.compiled = True

    def call(self) -> int:
        """One call as `Loop.run` makes it; how many steps it had."""
        count = self.loop.count()
        self.ends.append(max(self.time.now, self.ends[-1]) + count * self.seconds)
        self.loop.took(self.loop.params, self.loop.state, jnp.ones(LONGEST), count)
        return count


@pytest.fixture
def device(time: Any, monkeypatch: pytest.MonkeyPatch) -> Device:
    loop = Loop(Tiny(), make_data(), LONG, 0, optimizer(CONFIG))
    return Device(time, loop, monkeypatch)


def test_a_run_of_a_fast_machine_goes_on_slowly_on_a_slow_one(time: Any, device: Device) -> None:
    device.loop.clock = Clock(3.0, 50.0, 10_000)
    device.seconds = 1.0
    begin = time.now
    assert [device.call() for _ in range(6)] == [1] * 6
    # No signal waits for longer than the calls that were handed over.
    assert time.now - begin == 6 - IN_FLIGHT
    assert device.loop.clock.pace() == 1.0


def test_calls_grow_to_their_time_and_shrink_with_the_next_slow_ones(device: Device) -> None:
    device.seconds = CALL_SECONDS / 20.5
    assert [device.call() for _ in range(9)] == [1, 1, 1, 2, 4, 8, 16, 20, 20]
    device.seconds = 1.0
    # Those in flight are what nobody could know.
    assert [device.call() for _ in range(5)][-1] == 1
    device.seconds = CALL_SECONDS / 1000
    for _ in range(12):
        device.call()
    assert device.call() == LONGEST


def test_calls_that_seem_to_take_no_time_do_not_make_the_next_ones_long(
    time: Any, device: Device
) -> None:
    device.seconds = CALL_SECONDS / 4
    for _ in range(8):
        device.call()
    assert device.call() == 4
    time.now += 60.0
    # All that waits is done, and received at once.
    device.loop.drain()
    assert device.call() <= 8


def test_the_pace_of_another_number_of_runs_is_forgotten(time: Any) -> None:
    clock = Clock()
    clock.handed(4)
    time.now += 2.0
    clock.arrived(4)
    clock.shared(1)
    assert clock.pace() == 0.5
    clock.shared(2)
    assert clock.pace() == 0.0 and clock.sharers == 2
