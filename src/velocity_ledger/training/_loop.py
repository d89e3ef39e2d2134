"""The loop over a run's steps, and what happens between two of them."""

import collections
import contextlib
import dataclasses as dc
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import optax
from flax import nnx
from jaxtyping import Int

from velocity_ledger.corpus import window_starts_of, windows
from velocity_ledger.errors import UserError
from velocity_ledger.model import with_numbers
from velocity_ledger.telemetry import measure
from velocity_ledger.training._anneal import Anneal
from velocity_ledger.training._checkpoint import Checkpoints
from velocity_ledger.training._clock import Clock
from velocity_ledger.training._config import TrainingConfig
from velocity_ledger.training._history import LEARNED, History, Recorder, improves, stalled
from velocity_ledger.training._identity import check_identity, identity
from velocity_ledger.training._leaves import all_finite, copied, placed, strong
from velocity_ledger.training._pieces import microbatch
from velocity_ledger.training._progress import Progress, SilentProgress
from velocity_ledger.training._run import Data, Reason, Run, Snapshot
from velocity_ledger.training._step import LONGEST, Batching, dropout_root, training_steps
from velocity_ledger.training._trackers import CLOSING, Tracker
from velocity_ledger.training._validation import mean_loss, validation_batches

IN_FLIGHT = 2
"""Calls handed to the device before the losses of the first of them are waited for."""

CALL_SECONDS = 0.25
"""About how long one call may take: so often a signal is looked for and the progress is shown."""


@dc.dataclass(frozen=True)
class _Best:
    step: int
    loss: float
    params: Any


class Loop:
    """The state of a run between two steps, and what can be done to it."""

    def __init__(
        self,
        model: Any,
        data: Data,
        config: TrainingConfig,
        seed: int,
        optimizer: optax.GradientTransformation,
        anneal: Anneal | None = None,
        stop_after: int | None = None,
        ids: jax.Array | None = None,
    ) -> None:
        if not 0 <= seed < 2**32:
            raise UserError(f"a seed is a whole number from 0 to 2**32 - 1, got {seed}")
        if stop_after is not None and stop_after < 0:
            raise UserError(f"stop_after must not be negative, got {stop_after}")
        _check_ids(model, data)
        self.anneal, self.stop_after = anneal, stop_after
        if anneal is not None:
            _check_anneal(model, anneal, config)
        self.model, self.data, self.config, self.seed = model, data, config, seed
        self.context: int = model.config.context
        self.graphdef, params, self.rest = nnx.split(model, nnx.Param, ...)
        # A plain nested dict: what optax's masks and labels expect to walk through.
        self.params = placed(strong(nnx.to_pure_dict(params)))
        self.state = placed(strong(optimizer.init(self.params)))
        self._at: int | None = None  # the step whose numbers `rest` holds
        size = microbatch(config.microbatch, config.batch, self.context)
        self.batching = Batching(self.context, config.batch, size)
        self.update = training_steps(self.graphdef, optimizer, self.batching)
        # Loops of the same data share one copy on the device.
        self.ids = _resident(data.train) if ids is None else ids
        self.root = dropout_root(seed)
        self.batches = validation_batches(data.val, config, self.context)
        self.probe = windows(
            data.val,
            batch=config.probe_windows,
            context=self.context,
            seed=config.probe_seed,
            step=0,
        )[:, :-1]
        self.step = 0
        self.saved = 0
        self.diverged = False
        self.best: _Best | None = None
        self.record = Recorder()
        self.pending: collections.deque[tuple[jax.Array, int]] = collections.deque()
        self.clock = Clock()
        self.compiled = False
        self._longest = 1  # steps that a call may take, were it not for events
        self.checkpoints: Checkpoints | None = None
        self.trackers: tuple[Tracker, ...] = ()
        self.progress: Progress = SilentProgress()
        self.on_save: Callable[[Snapshot], None] | None = None
        self.signal: int | None = None

    @property
    def end(self) -> int:
        """The step this run will end at, if nothing happens."""
        steps = self.config.steps
        return steps if self.stop_after is None else min(steps, self.stop_after)

    def run(self, should_stop: Callable[[], int | None]) -> Run:
        """Go on until there is a reason to stop."""
        self.begin()
        reason, signal = self.reason_to_stop(should_stop)
        while reason is None:
            count = self.granted(self.count(), should_stop)
            with self.calling():
                found = self.called(count)
            self.took(*found, count)
            self.grid_events()
            reason, signal = self.reason_to_stop(should_stop)
        return self.close(reason, signal)

    def begin(self) -> None:
        """What is to be known of the untrained model."""
        if self.step == 0 and 0 in self.config.telemetry_steps:
            self._measure()
        if self.step == 0 and self.anneal is not None:
            self._validate()

    def close(self, reason: Reason, signal: int | None) -> Run:
        """End here: save, and judge and measure what a run that ends for this reason wants."""
        self.drain()
        if not self.diverged:
            self._save()
        if self.diverged:
            reason, signal = "diverged", None
        kept, best = self.record.history(), self.best
        if reason not in ("diverged", "interrupted"):
            kept, best = self._closing_events(reason)
        self._flush()
        tokens = self.clock.steps * self.config.batch * self.context
        return Run(
            reason=reason,
            signal=signal,
            step=self.step,
            best_step=best.step if best else None,
            best_val=best.loss if best else None,
            best=self._exported(best.params) if best else None,
            last=None if self.diverged else self._exported(self.params),
            history=kept,
            compile_s=self.clock.compile_s,
            train_s=self.clock.train_s,
            tokens_per_second=tokens / self.clock.train_s if self.clock.train_s else 0.0,
        )

    def reason_to_stop(
        self, should_stop: Callable[[], int | None]
    ) -> tuple[Reason | None, int | None]:
        """Read off the state alone, so that a resumed run stops where the other one did."""
        if self.diverged:
            return "diverged", None
        if self.step >= self.config.steps:
            return "finished", None
        if stalled(self._counted(), self.config.patience):
            return "patience", None
        if self.stop_after is not None and self.step >= self.stop_after:
            return "stopped", None
        signal = should_stop() if self.signal is None else self.signal
        return ("interrupted", signal) if signal is not None else (None, None)

    def granted(self, count: int, should_stop: Callable[[], int | None]) -> int:
        """How many of so many steps may be handed over before the first signal."""
        for i in range(1, count):
            self.signal = should_stop()
            if self.signal is not None:
                return i
        return count

    @contextlib.contextmanager
    def calling(self) -> Iterator[None]:
        """Count this block, which hands steps to the device, as what it is."""
        if self.compiled:
            self.clock.begin()
            yield
            return
        self.progress.busy("compiling")
        with self.clock.compiling():
            yield
        self.compiled = True

    def called(self, count: int) -> tuple[Any, Any, jax.Array]:
        """What will come of the next updates of this run alone."""
        return self.update(
            *(self.params, self.state, self.rest_now(), self.ids, self.starts(count), self.root),
            *(np.uint32(self.step), np.int32(count)),
        )

    def took(self, params: Any, state: Any, losses: jax.Array, count: int) -> None:
        """So many updates were handed to the device, these are what will come of them."""
        self.params, self.state = params, state
        self.clock.handed(count)
        self.step += count
        self.pending.append((losses, count))
        if len(self.pending) > IN_FLIGHT:
            self._receive()

    def count(self) -> int:
        """How many steps the next call takes: up to the next event, and not for too long."""
        config, step = self.config, self.step
        seconds = self.clock.pace()
        moving = self.anneal is not None and step <= self.anneal.steps
        if not self.compiled or not seconds or moving:
            self._longest = 1
            return 1
        # Twice the last at most: calls that were done while nobody looked seem to take no time.
        self._longest = min(LONGEST, 2 * self._longest, max(1, int(CALL_SECONDS / seconds)))
        grid = [every - step % every for every in (config.val_every, config.checkpoint_every)]
        looks = [at - step for at in config.telemetry_steps if at > step]
        return min(self._longest, self.end - step, *grid, *looks)

    def starts(self, count: int) -> Int[np.ndarray, "longest batch"]:
        """Where the windows of the next steps begin."""
        starts = np.zeros((LONGEST, self.config.batch), np.int32)
        starts[:count] = window_starts_of(
            len(self.data.train),
            batch=self.config.batch,
            context=self.context,
            seed=self.seed,
            steps=range(self.step, self.step + count),
        )
        return starts

    def waiting(self) -> int:
        """Steps handed over whose losses are not here yet."""
        return sum(count for _, count in self.pending)

    def _receive(self) -> None:
        """Wait for the oldest losses that are not here yet and note them."""
        waited, count = self.pending.popleft()
        if self.diverged:
            return
        losses = np.asarray(waited)
        self.clock.arrived(count)
        for loss in losses[:count]:
            self.record.train_loss.append(loss)
            self._log(len(self.record.train_loss), {"train_loss": float(loss)})
            if not np.isfinite(loss):
                self.diverged = True
                return
        done = len(self.record.train_loss)
        seconds = self.clock.seconds_a_step(self.waiting())
        if seconds:
            self.progress.update(
                done,
                loss=float(self.record.train_loss[-1]),
                tokens_per_second=self.config.batch * self.context / seconds,
                seconds_left=seconds * max(0, self.end - done),
            )

    def drain(self) -> None:
        """Wait for every step handed to the device; a divergence sets the step it showed at."""
        while self.pending:
            self._receive()
        if not self.diverged:
            jax.block_until_ready(self.params)
        self.clock.rest()
        if self.diverged:
            self.step = len(self.record.train_loss)

    def due(self) -> tuple[bool, bool, bool]:
        """Whether the configuration wants a validation, a measurement, a save after this step."""
        config, last = self.config, self.step == self.config.steps
        validate = last or self.step % config.val_every == 0
        save = last or self.step % config.checkpoint_every == 0
        return validate, self.step in config.telemetry_steps, save

    def grid_events(self) -> None:
        """What the configuration, and nothing else, wants done after this step."""
        if self.diverged:
            self.drain()
            return
        validate, look, save = self.due()
        if not (validate or look or save):
            return
        self.drain()
        if validate and not self.diverged:
            self._validate()
        if look and not self.diverged:
            self._measure()
        if save and not self.diverged:
            self._save()

    def _validate(self) -> None:
        self.progress.busy("validating")
        loss = mean_loss(self.graphdef, self.params, self.rest_now(), self.batches)
        self.record.val_step.append(self.step)
        self.record.val_loss.append(loss)
        if self._counts(self.step) and improves(loss, self.best.loss if self.best else None):
            self.best = self._as_best(loss)
        self._log(self.step, {"val_loss": loss} | self._speed() | self._numbers())
        # No step could bring back weights whose loss is not a number.
        self.diverged = not math.isfinite(loss)

    def rest_now(self) -> Any:
        """What of the model is no parameter, the integrator's numbers those of this step."""
        anneal = self.anneal
        if anneal is not None and self._at != (now := min(self.step, anneal.steps)):
            self.rest, self._at = with_numbers(self.rest, anneal.at(now)), now
        return self.rest

    def _numbers(self) -> dict[str, float]:
        return {} if self.anneal is None else self.anneal.numbers(self.step)

    def _counts(self, step: int) -> bool:
        """Whether a validation there is one of the model that is wanted."""
        return self.anneal is None or self.anneal.arrived(step)

    def _counted(self) -> list[float]:
        found = zip(self.record.val_step, self.record.val_loss, strict=True)
        return [loss for step, loss in found if self._counts(step)]

    def _as_best(self, loss: float) -> _Best:
        # A copy: the next step takes the parameters' own memory.
        return _Best(self.step, loss, copied(self.params))

    def _measured(self) -> dict[str, np.ndarray]:
        self.progress.busy("measuring")
        model: Any = nnx.merge(self.graphdef, self.params, self.rest_now())
        return measure(model, self.probe) | _learned(model)

    def _measure(self) -> None:
        measurement = self._measured()
        self.record.telemetry[self.step] = measurement
        self._log(self.step, _path_means(measurement))

    def _closing_events(self, reason: Reason | None) -> tuple[History, _Best | None]:
        """The history and the best of this run, with its end judged and measured there."""
        closing, best = Recorder(self.record.history()), self.best
        if reason == "stopped" and self.step not in closing.val_step:
            loss = mean_loss(self.graphdef, self.params, self.rest_now(), self.batches)
            closing.val_step.append(self.step)
            closing.val_loss.append(loss)
            if self._counts(self.step) and improves(loss, best.loss if best else None):
                best = self._as_best(loss)
            self._log(self.step, {f"{CLOSING}val_loss": loss})
        if self.config.telemetry_at and self.step not in closing.telemetry:
            measurement = self._measured()
            closing.telemetry[self.step] = measurement
            means = _path_means(measurement)
            self._log(self.step, {f"{CLOSING}{name}": mean for name, mean in means.items()})
        return closing.history(), best

    def open(self, checkpoints: Checkpoints, resume: bool) -> None:
        """Save to these checkpoints, and with `resume` go on from the newest."""
        steps = checkpoints.steps()
        if steps and not resume:
            raise UserError(
                f"{checkpoints.folder} holds the checkpoint of step {steps[-1]}: "
                "resume, or choose another folder"
            )
        checkpoints.prepare()
        self.checkpoints = checkpoints
        if not steps:
            return
        step = steps[-1]
        with checkpoints.reading(step):
            self._restore(checkpoints, step)

    def _restore(self, checkpoints: Checkpoints, step: int) -> None:
        """Take up the run where this checkpoint left it."""
        state = checkpoints.state(step)
        check_identity(state["run"], self.identity, self.config, self.model)
        like = {"params": self.params, "optimizer": self.state}
        if state["best_step"] is not None:
            like["best"] = self.params
        trees = checkpoints.restore(step, like)
        self.params, self.state = trees["params"], trees["optimizer"]
        self.record = Recorder(History.from_arrays(checkpoints.history(step)))
        if state["best_step"] is not None:
            self.best = _Best(state["best_step"], state["best_val"], trees["best"])
        times = state["times"]
        self.clock = Clock(times["compile_s"], times["train_s"], times["steps"])
        self.step = self.saved = step

    def _save(self) -> None:
        """Save what the grid gave, unless it is saved or its weights would spoil what is."""
        if not bool(all_finite(self.params)):
            self.diverged = True
            return
        if self.step == self.saved or self.checkpoints is None:
            return
        self.progress.busy("saving")
        self._flush()
        best = self.best
        trees = {"params": self.params, "optimizer": self.state}
        if best:
            trees["best"] = best.params
        history = self.record.history()
        clock = self.clock
        state = {
            "run": self.identity,
            "best_step": best.step if best else None,
            "best_val": best.loss if best else None,
            "times": {"compile_s": clock.compile_s, "train_s": clock.train_s, "steps": clock.steps},
        }
        self.checkpoints.save(self.step, trees, history.arrays(), state)
        self.saved = self.step
        if self.on_save is not None:
            exported = self._exported(best.params) if best else None
            self.on_save(
                Snapshot(self.step, history, state["best_step"], state["best_val"], exported)
            )

    @functools.cached_property
    def identity(self) -> dict[str, Any]:
        """What a resumed run must share with the saved one."""
        return identity(self.model, self.data, self.config, self.seed, self.anneal)

    def _exported(self, params: Any) -> Any:
        return nnx.state(nnx.merge(self.graphdef, params, self.rest), nnx.Param)

    def _speed(self) -> dict[str, float]:
        seconds = self.clock.seconds_a_step(0)
        return {"tokens_per_second": self.config.batch * self.context / seconds} if seconds else {}

    def _log(self, step: int, metrics: dict[str, float]) -> None:
        for tracker in self.trackers:
            tracker.log(step, metrics)

    def _flush(self) -> None:
        for tracker in self.trackers:
            tracker.flush()


def _learned(model: Any) -> dict[str, np.ndarray]:
    """What the model's integrator has learned so far: a null model must use the same."""
    learned = getattr(model, "integrator_parameters", dict)()
    return {f"{LEARNED}{name}": np.asarray(value) for name, value in learned.items()}


def _resident(ids: Int[np.ndarray, " length"]) -> jax.Array:
    """The split on the device, in as few bytes as its ids need."""
    if len(ids) >= 2**31:
        raise UserError(f"a training split holds at most 2**31 - 1 tokens, got {len(ids)}")
    narrow = np.min_scalar_type(int(ids.max(initial=0)))
    return jax.device_put(ids.astype(narrow if narrow.itemsize < 4 else np.int32))


def _path_means(measurement: dict[str, np.ndarray]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in ("path_length", "turning_angle", "straightness"):
        values = measurement.get(name)
        if values is not None and np.isfinite(values).any():
            found[name] = float(np.nanmean(values, dtype=np.float64))
    return found


def _check_anneal(model: Any, anneal: Anneal, config: TrainingConfig) -> None:
    own = getattr(model, "integrator", None)
    if jax.tree.structure(own) != jax.tree.structure(anneal.start):
        raise UserError(f"the anneal moves {anneal.start}, the model has {own}: convert it first")
    if anneal.steps > config.steps:
        raise UserError(
            f"the numbers arrive after {anneal.steps} steps, training ends after {config.steps}: "
            "anneal over fewer steps, or train for more"
        )


def _check_ids(model: Any, data: Data) -> None:
    """Out of range, an id would read a wrong row or give NaN, in silence."""
    vocabulary = model.config.vocabulary
    for name, ids in (("training", data.train), ("validation", data.val)):
        if len(ids) and not 0 <= ids.min() <= ids.max() < vocabulary:
            raise UserError(
                f"the {name} split holds ids from {ids.min()} to {ids.max()}, the model's "
                f"vocabulary has 0 to {vocabulary - 1}: build the model for this corpus"
            )
