"""Training one model: one seed, one optimizer, from nothing or from a checkpoint."""

import contextlib
import pathlib
import sys
from collections.abc import Callable, Sequence

import optax
from flax import nnx

from velocity_ledger.errors import UserError
from velocity_ledger.training._anneal import Anneal
from velocity_ledger.training._checkpoint import Checkpoints
from velocity_ledger.training._config import TrainingConfig
from velocity_ledger.training._loop import Loop
from velocity_ledger.training._optimizer import rule_for, warmup_steps
from velocity_ledger.training._progress import Progress, SilentProgress
from velocity_ledger.training._run import Data, Run, Snapshot
from velocity_ledger.training._signals import stop_signals
from velocity_ledger.training._trackers import Tracker


def to_stderr(text: str) -> None:
    print(text, file=sys.stderr)


def train(
    model: nnx.Module,
    data: Data,
    config: TrainingConfig,
    *,
    seed: int,
    optimizer: optax.GradientTransformation | None = None,
    anneal: Anneal | None = None,
    folder: pathlib.Path | None = None,
    resume: bool = False,
    stop_after: int | None = None,
    on_save: Callable[[Snapshot], None] | None = None,
    trackers: Sequence[Tracker] = (),
    progress: Progress | None = None,
    should_stop: Callable[[], int | None] | None = None,
    notify: Callable[[str], None] = to_stderr,
) -> Run:
    """Train `model` by next-token cross-entropy; `model` itself keeps the weights it came with.

    Windows and dropout depend on (seed, step) alone. With a `folder`, checkpoints go to
    `folder/checkpoint`, and `resume` goes on from the newest: on one machine, losses, weights,
    best step and telemetry are then those of a run that was never interrupted, bit for bit.

    `stop_after` ends the unchanged schedule after that many updates. Where a run ends off the
    validation grid, it is validated and measured there for this `Run` only: a resumed run that
    goes further forgets it. `on_save` is called after each checkpoint. `should_stop` returns a
    signal's number or None, and is asked before every step is handed over; without it SIGINT and
    SIGTERM are caught for the length of this call. The telemetry's probe is drawn from the
    validation split.

    With `anneal` the model's integrator, which must be of its structure, changes its numbers step
    by step. The model is then validated before the first step, too, and best validation and
    patience count from the step at which the numbers have arrived: `best` belongs to `anneal.end`.

    Raises `UserError` for ids outside the model's vocabulary, a seed outside 0..2**32 - 1, a folder
    that holds checkpoints without `resume` or those of another run with it, and a failed save.
    """
    if resume and folder is None:
        raise UserError("resume needs the folder of the run to go on with")
    shown = progress or SilentProgress()
    with contextlib.ExitStack() as stack:
        if should_stop is None:
            should_stop = stack.enter_context(stop_signals())
        rule = optimizer or rule_for(model, config)
        loop = Loop(model, data, config, seed, rule, anneal, stop_after)
        loop.trackers, loop.progress, loop.on_save = tuple(trackers), shown, on_save
        if folder is not None:
            loop.open(Checkpoints(folder / "checkpoint"), resume)
        if optimizer is None and loop.step == 0:
            tell_warmup(config, notify)
        stack.callback(shown.stop)
        for tracker in trackers:
            stack.callback(tracker.finish)
            tracker.start(loop.step)
        shown.start(loop.step, loop.end)
        return loop.run(should_stop)


def tell_warmup(config: TrainingConfig, notify: Callable[[str], None]) -> None:
    """Say so where the schedule is shorter than its warm-up."""
    if warmup_steps(config) < config.warmup:
        notify(
            f"warm-up shortened from {config.warmup} to {warmup_steps(config)} steps: "
            f"the schedule has {config.steps}"
        )
