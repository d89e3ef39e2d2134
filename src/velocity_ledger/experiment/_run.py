"""Running a grid of cells into a bundle."""

import contextlib
import dataclasses as dc
import os
import pathlib
import sys
from collections.abc import Callable, Sequence

from velocity_ledger.errors import UserError
from velocity_ledger.experiment._begin import (
    begin,
    check_out,
    configuration_of,
    exists,
    go_on,
    session_record,
    with_vocabulary,
)
from velocity_ledger.experiment._cells import cell_folder
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._files import clear_asides, locked, try_folder
from velocity_ledger.experiment._grid import Grid
from velocity_ledger.experiment._manifest import DONE, NAME as MANIFEST, CellRecord
from velocity_ledger.experiment._repair import unreadable
from velocity_ledger.experiment._start import Start, check_start
from velocity_ledger.experiment._variants import Variant, as_recorded, variants_of
from velocity_ledger.training import (
    Progress,
    RichProgress,
    Tracker,
    stop_signals,
)


def _to_stderr(message: str) -> None:
    print(message, file=sys.stderr)


def _no_trackers(cell: CellRecord, folder: pathlib.Path) -> Sequence[Tracker]:
    del cell, folder
    return ()


def run_experiment(
    config: ExperimentConfig,
    out: pathlib.Path,
    *,
    resume: bool = False,
    add: bool = False,
    start: Start | None = None,
    stop_after: int | None = None,
    stack_seeds: bool = False,
    command: Sequence[str] = (),
    device: str = "auto",
    progress: Callable[[str], Progress] = RichProgress,
    trackers: Callable[[CellRecord, pathlib.Path], Sequence[Tracker]] = _no_trackers,
    notify: Callable[[str], None] = _to_stderr,
) -> int:
    """Train and measure every variant at every seed into the bundle `out`; return an exit code.

    0: every cell is finished, or stopped by `stop_after`. 1: a cell diverged; the others were
    run. 128 + the signal's number: SIGINT or SIGTERM stopped it, and what was done is saved.
    Cells run seed by seed, so that those of one seed can be compared early. All that `out` holds
    can be read at any moment. `stop_after` ends each cell after that many steps of the unchanged
    schedule and is no part of the configuration. The words of `command`, and the `device` that was
    asked for, are kept in the manifest. `progress` makes a display from a cell's name,
    `trackers` makes a cell's trackers from its record and folder, beside the JSONL log.

    With `resume` a run goes on: on the corpus it recorded, leaving finished cells as they are, but
    for those whose files are gone or damaged: these go on from their checkpoint, or begin again.
    What an older version, which began the run, did not measure is NaN at its training steps.
    With `add` it also takes in the variants and seeds that it has not had: all of it must agree in
    everything else.

    With `stack_seeds` a variant's seeds train side by side, by one program (`train_stacked`), and
    variants one after the other. Each cell is what it is alone, up to the rounding of sums, and its
    files are the same; so a run may go on with or without it, and the manifest says of each session
    which (`stack_seeds`). Trials of a sweep are not stacked. Several cells' trackers are then open
    at a time.

    With `config.sweep` each variant's learning rate is found first, by trials kept in `sweep.json`;
    with `config.match` the reference is also trained in the sizes of the others.

    With `start` the cells begin with a trained cell's weights instead of drawing their own, on its
    corpus: `convert_cell` makes one.

    Raises `UserError` for a negative `stop_after`, a configuration or a variant that cannot run,
    an `out` that cannot be written, holds something else, is being written by another process, or
    was begun with another configuration, and for a failed save, saying what is kept.
    """
    if stop_after is not None and stop_after < 0:
        raise UserError(f"stop_after must not be negative, got {stop_after}")
    variants = variants_of(config.variants)
    config = dc.replace(config, variants=tuple(v.text for v in variants))
    resume = resume or add
    recorded = check_out(config, out, variants, resume, add)
    check_start(recorded, start, out)
    fresh = not os.path.exists(out)
    try_folder(out)
    say = _once(notify)
    with contextlib.ExitStack() as stack:
        should_stop = stack.enter_context(stop_signals())
        stack.enter_context(locked(out))
        clear_asides(out)
        session = session_record(list(command), device, stack_seeds)
        try:
            if recorded is None:
                if os.path.exists(out / MANIFEST):
                    raise UserError(exists(out))
                ledger, corpus = begin(config, out, variants, session, say, start)
            else:
                ledger, corpus = go_on(config, out, variants, session, say)
        except UserError:
            if fresh and not os.path.exists(out / MANIFEST):
                _remove(out)
            raise
        config = with_vocabulary(configuration_of(ledger.manifest), corpus)
        records = ledger.manifest["variants"]
        variants = as_recorded(variants_of([v["text"] for v in records]), records)
        grid = Grid(config, corpus, ledger, stop_after, say, start)
        signal = grid.sweep(variants, progress, should_stop)
        if signal is not None:
            return 128 + signal
        for variant, seeds in _turns(variants, config.seeds, stack_seeds):
            todo = []
            for seed in seeds:
                cell = ledger.cells[f"{variant.text}/{seed}"]
                if cell.state in DONE:
                    lost = unreadable(cell_folder(out, cell.slug, seed), cell)
                    if lost is None:
                        grid.sample(variant, cell)
                        continue
                    say(f"{cell.name} is {cell.state}, but {lost}")
                todo.append(cell)
            if not todo:
                continue
            signal = should_stop()
            if signal is None:
                shown = progress(", ".join([todo[0].name, *(str(c.seed) for c in todo[1:])]))
                extra = [trackers(c, cell_folder(out, c.slug, c.seed)) for c in todo]
                signal = grid.run(variant, todo, resume, shown, extra, should_stop)
            if signal is not None:
                return 128 + signal
            for cell in todo:
                grid.sample(variant, ledger.cells[cell.name])
    diverged = [cell for cell in ledger.cells.values() if cell.state == "diverged"]
    if diverged:
        names = ", ".join(f"{cell.name} at step {cell.step}" for cell in diverged)
        notify(f"diverged: {names}; the best weights before that are kept")
    return 1 if diverged else 0


def _turns(
    variants: Sequence[Variant], seeds: Sequence[int], stacked: bool
) -> list[tuple[Variant, tuple[int, ...]]]:
    """What is trained one after the other: a cell, or all seeds of a variant."""
    if stacked:
        return [(variant, tuple(seeds)) for variant in variants]
    return [(variant, (seed,)) for seed in seeds for variant in variants]


def _once(notify: Callable[[str], None]) -> Callable[[str], None]:
    """Every cell has the same to say: say it once."""
    said: set[str] = set()

    def say(message: str) -> None:
        if message not in said:
            said.add(message)
            notify(message)

    return say


def _remove(out: pathlib.Path) -> None:
    with contextlib.suppress(OSError):
        (out / ".lock").unlink(missing_ok=True)
        out.rmdir()
