"""Several seeds of one model, trained side by side by one compiled program."""

import contextlib
import dataclasses as dc
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import optax
from flax import nnx

from velocity_ledger.errors import UserError
from velocity_ledger.training._anneal import Anneal
from velocity_ledger.training._checkpoint import Checkpoints
from velocity_ledger.training._config import TrainingConfig
from velocity_ledger.training._leaves import numbers
from velocity_ledger.training._loop import Loop
from velocity_ledger.training._optimizer import rule_for
from velocity_ledger.training._pieces import microbatch
from velocity_ledger.training._progress import Progress, SilentProgress
from velocity_ledger.training._run import Data, Run, Snapshot
from velocity_ledger.training._signals import stop_signals
from velocity_ledger.training._step import Batching, training_steps
from velocity_ledger.training._trackers import Tracker
from velocity_ledger.training._train import tell_warmup, to_stderr


@dc.dataclass(frozen=True)
class Seed:
    """What is one seed's own: the arguments that `train` has for it alone.

    `on_end` is called with its `Run` as soon as that has ended, whatever the others do.
    """

    model: nnx.Module
    seed: int
    folder: pathlib.Path | None = None
    trackers: Sequence[Tracker] = ()
    on_save: Callable[[Snapshot], None] | None = None
    on_end: Callable[[Run], None] | None = None


def train_stacked(
    seeds: Sequence[Seed],
    data: Data,
    config: TrainingConfig,
    *,
    optimizer: optax.GradientTransformation | None = None,
    anneal: Anneal | None = None,
    resume: bool = False,
    stop_after: int | None = None,
    progress: Progress | None = None,
    should_stop: Callable[[], int | None] | None = None,
    notify: Callable[[str], None] = to_stderr,
) -> list[Run]:
    """Train several seeds of one model side by side; return what `train` returns for each.

    One compiled program maps the step over the seeds' weights, optimizer states, windows and
    dropout keys (`jax.vmap`); all else, from best validation and patience to checkpoints and
    telemetry, is each seed's own. Windows and masks are those of the seed alone; losses and weights
    are, too, up to the rounding of sums. The same call gives the same bits. Files are those of
    `train`, and either goes on from the other's.

    Seeds that stand at the same step go on together, those that are behind first, until they are
    level; a seed that ends leaves. There is one program for each number of seeds, that for one is
    `train`'s own. Memory grows with the seeds. Each counts its share of the seconds, so that
    `train_s` adds up to what it took and `tokens_per_second` is that of all together. Arguments are
    those of `train`; a signal interrupts every seed.

    Raises `UserError` as `train` does, for no seed or two of one folder, for models that differ in
    more than the values of their parameters, and for one that `jax.vmap` cannot map.
    """
    if not seeds:
        raise UserError("name at least one seed to train")
    folders = [seed.folder for seed in seeds if seed.folder is not None]
    if len({folder.absolute() for folder in folders}) < len(folders):
        raise UserError("two seeds cannot share a folder: give each its own")
    if resume and len(folders) < len(seeds):
        raise UserError("resume needs the folder of every seed to go on with")
    shown = progress or SilentProgress()
    with contextlib.ExitStack() as stack:
        if should_stop is None:
            should_stop = stack.enter_context(stop_signals())
        rule = optimizer or rule_for(seeds[0].model, config)
        loops: list[Loop] = []
        for seed in seeds:
            ids = loops[0].ids if loops else None
            loop = Loop(seed.model, data, config, seed.seed, rule, anneal, stop_after, ids)
            loop.trackers, loop.on_save = tuple(seed.trackers), seed.on_save
            loop.progress = _OnlyBusy(shown)
            loops.append(loop)
        _check_alike(loops)
        for seed, loop in zip(seeds, loops, strict=True):
            if seed.folder is not None:
                loop.open(Checkpoints(seed.folder / "checkpoint"), resume)
        if optimizer is None and any(loop.step == 0 for loop in loops):
            tell_warmup(config, notify)
        stack.callback(shown.stop)
        for loop in loops:
            for tracker in loop.trackers:
                stack.callback(tracker.finish)
                tracker.start(loop.step)
        shown.start(min(loop.step for loop in loops), loops[0].end)
        ends = [seed.on_end for seed in seeds]
        return _Together(loops, ends, rule, shown, should_stop).run()


class _OnlyBusy(SilentProgress):
    """What one seed shows of itself: the steps are told of all."""

    def __init__(self, shown: Progress) -> None:
        self._shown = shown

    def busy(self, text: str) -> None:
        self._shown.busy(text)


class _Together:
    """Runs that are not over, and how they go on."""

    def __init__(
        self,
        loops: Sequence[Loop],
        ends: Sequence[Callable[[Run], None] | None],
        rule: optax.GradientTransformation,
        progress: Progress,
        should_stop: Callable[[], int | None],
    ) -> None:
        self.loops, self.ends, self.rule = loops, ends, rule
        self.progress, self.should_stop = progress, should_stop
        self.going = list(loops)
        self.runs: dict[int, Run] = {}
        self.group: list[Loop] = []
        self.compiled: set[int] = set()

    def run(self) -> list[Run]:
        """Go on until each has a reason to stop."""
        for loop in self.loops:
            loop.begin()
        self._end_some()
        while self.going:
            self._form()
            self._advance()
            if any(loop.diverged or any(loop.due()) for loop in self.group):
                # All of them, before the first spends time on something else.
                self._drain()
            self._tell()
            for loop in self.group:
                loop.grid_events()
            self._end_some()
        return [self.runs[place] for place in range(len(self.loops))]

    def _end_some(self) -> None:
        """Let those that have a reason to stop do so."""
        signals = [loop.signal for loop in self.going if loop.signal is not None]
        signal = signals[0] if signals else self.should_stop()
        for place, loop in enumerate(self.loops):
            if loop not in self.going:
                continue
            reason, number = loop.reason_to_stop(lambda: signal)
            if reason is None:
                continue
            self._drain()
            self.going.remove(loop)
            self.runs[place] = run = loop.close(reason, number)
            told = self.ends[place]
            if told is not None:
                told(run)

    def _form(self) -> None:
        """Find those that stand furthest behind."""
        least = min(loop.step for loop in self.going)
        group = [loop for loop in self.going if loop.step == least]
        if group == self.group:
            return
        self._drain()
        for loop in group:
            loop.clock.shared(len(group))
            loop.compiled = len(group) in self.compiled
        self.group = group

    def _drain(self) -> None:
        for loop in self.group:
            loop.drain()

    def _advance(self) -> None:
        """Some updates of all that stand together, handed to the device in one call."""
        group, first = self.group, self.group[0]
        ahead = [loop.step - first.step for loop in self.going if loop.step > first.step]
        count = first.granted(min([*ahead, *(loop.count() for loop in group)]), self.should_stop)
        with contextlib.ExitStack() as stack:
            for loop in group:
                stack.enter_context(loop.calling())
            found = self._update(count)
        self.compiled.add(len(group))
        for loop, params, state, losses in zip(group, *found, strict=True):
            loop.took(params, state, losses, count)

    def _update(self, count: int) -> tuple[Any, Any, Any]:
        group, first = self.group, self.group[0]
        if len(group) == 1:
            params, state, losses = first.called(count)
            return (params,), (state,), (losses,)
        config = first.config
        # Pieces of so many tokens, of all seeds, as suit the cache.
        size = microbatch(config.microbatch, config.batch, first.context * len(group))
        batching = Batching(first.context, config.batch, size)
        update = training_steps(first.graphdef, self.rule, batching, stacked=True)
        try:
            return update(
                tuple(loop.params for loop in group),
                tuple(loop.state for loop in group),
                *(first.rest_now(), first.ids, np.stack([loop.starts(count) for loop in group])),
                tuple(loop.root for loop in group),
                *(np.uint32(first.step), np.int32(count)),
            )
        except NotImplementedError as error:
            # What jax.vmap has no rule for, a callback for instance.
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise UserError(
                f"this model's seeds cannot be stacked ({reason}): train them one after the other"
            ) from error

    def _tell(self) -> None:
        first = self.group[0]
        seconds = first.clock.seconds_a_step(first.waiting())
        losses = [loop.record.train_loss[-1] for loop in self.group if loop.record.train_loss]
        if not seconds or not losses:
            return
        left = sum(max(0, loop.end - len(loop.record.train_loss)) for loop in self.going)
        self.progress.update(
            len(first.record.train_loss),
            loss=float(np.mean(losses)),
            tokens_per_second=first.config.batch * first.context / seconds,
            seconds_left=seconds * left,
        )


def _check_alike(loops: Sequence[Loop]) -> None:
    """Raise `UserError` where one program cannot serve all."""
    first = loops[0]
    for loop in loops[1:]:
        if (
            loop.graphdef != first.graphdef
            or _forms((loop.params, loop.state)) != _forms((first.params, first.state))
            or not _equal(loop.rest, first.rest)
        ):
            raise UserError(
                f"the models of seeds {first.seed} and {loop.seed} differ in more than the values "
                "of their parameters: train them one after the other"
            )


def _forms(tree: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    leaves, structure = jax.tree.flatten(tree)
    return structure, [(leaf.shape, leaf.dtype) for leaf in leaves]


def _equal(a: Any, b: Any) -> bool:
    if jax.tree.structure(a) != jax.tree.structure(b):
        return False
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(np.array_equal(numbers(x), numbers(y), equal_nan=False) for x, y in pairs)
