"""What a run is given to learn from, and what it hands back."""

import dataclasses as dc
from typing import Any, Literal

import numpy as np
from jaxtyping import Int

from velocity_ledger.training._history import History

Reason = Literal["finished", "stopped", "patience", "interrupted", "diverged"]


@dc.dataclass(frozen=True)
class Data:
    """Token ids to train and to validate on."""

    train: Int[np.ndarray, " length"]
    val: Int[np.ndarray, " other"]


@dc.dataclass(frozen=True)
class Snapshot:
    """What a checkpoint holds, for whoever wants it in another form.

    `best` is an `nnx.Param` state of its own arrays, None before the first validation.
    """

    step: int
    history: History
    best_step: int | None
    best_val: float | None
    best: Any


@dc.dataclass(frozen=True)
class Run:
    """How a run ended and what it found.

    `reason` is "finished" (the whole schedule), "stopped" (`stop_after`), "patience",
    "interrupted" (`signal` says by which signal) or "diverged" (a loss or weight that is not
    finite; `step` is the update that showed it). `best` reproduces `best_val`; both are None where
    nothing was validated. `last` holds the weights after `step` updates, None after divergence.
    Both are `nnx.Param` states: `nnx.update(model, run.best)`. Times are in seconds and add up
    over resumed runs.
    """

    reason: Reason
    signal: int | None
    step: int
    best_step: int | None
    best_val: float | None
    best: Any
    last: Any
    history: History
    compile_s: float
    train_s: float
    tokens_per_second: float
