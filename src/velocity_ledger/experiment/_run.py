"""Running a grid of cells into a bundle."""

import contextlib
import dataclasses as dc
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from velocity_ledger.corpus import Corpus, check_length, corpus_from_record, load_corpus
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _environment, _weights
from velocity_ledger.experiment._cells import (
    NAME,
    cell_dataset,
    cell_folder,
    read_sample,
    write_cell,
)
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._describe import count_own_parameters, parameter_count
from velocity_ledger.experiment._files import clear_asides, locked, try_folder
from velocity_ledger.experiment._ledger import Ledger
from velocity_ledger.experiment._manifest import (
    DONE,
    FORMAT,
    NAME as MANIFEST,
    SCHEMA_VERSION,
    CellRecord,
    config_from_dict,
    differences,
    now,
    read_manifest,
    refuse_imported,
)
from velocity_ledger.experiment._repair import unreadable
from velocity_ledger.experiment._sample import draw_sample, write_sample
from velocity_ledger.experiment._trial import first_line, try_variant
from velocity_ledger.experiment._variants import (
    Variant,
    check_files,
    describe_axes,
    describe_text,
    keep_files,
    variants_of,
)
from velocity_ledger.model import GPT, ModelConfig
from velocity_ledger.telemetry import null_of_checkpoint, path_dataset
from velocity_ledger.training import (
    LEARNED,
    Data,
    JsonlTracker,
    Progress,
    RichProgress,
    Run,
    Snapshot,
    Tracker,
    stop_signals,
    train,
)

LOG = "log.jsonl"


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
    stop_after: int | None = None,
    command: Sequence[str] = (),
    progress: Callable[[str], Progress] = RichProgress,
    trackers: Callable[[CellRecord, pathlib.Path], Sequence[Tracker]] = _no_trackers,
    notify: Callable[[str], None] = _to_stderr,
) -> int:
    """Train and measure every variant at every seed into the bundle `out`; return an exit code.

    0: every cell is finished, or stopped by `stop_after`. 1: a cell diverged; the others were
    run. 128 + the signal's number: SIGINT or SIGTERM stopped it, and what was done is saved.
    Cells run seed by seed, so that those of one seed can be compared early. All that `out` holds
    can be read at any moment. `stop_after` ends each cell after that many steps of the unchanged
    schedule and is no part of the configuration. `progress` makes a display from a cell's name,
    `trackers` makes a cell's trackers from its record and folder, beside the JSONL log.

    With `resume` a run goes on: on the corpus it recorded, leaving finished cells as they are, but
    for those whose files are gone or damaged: these go on from their checkpoint, or begin again.
    What an older version, which began the run, did not measure is NaN at its training steps.

    Raises `UserError` for a negative `stop_after`, a configuration or a variant that cannot run,
    an `out` that cannot be written, holds something else, is being written by another process, or
    was begun with another configuration, and for a failed save, saying what is kept.
    """
    if stop_after is not None and stop_after < 0:
        raise UserError(f"stop_after must not be negative, got {stop_after}")
    variants = variants_of(config.variants)
    config = dc.replace(config, variants=tuple(v.text for v in variants))
    recorded = _check_out(config, out, variants, resume)
    fresh = not out.exists()
    try_folder(out)
    say = _once(notify)
    with contextlib.ExitStack() as stack:
        should_stop = stack.enter_context(stop_signals())
        stack.enter_context(locked(out))
        clear_asides(out)
        try:
            if recorded is None:
                if (out / MANIFEST).exists():
                    raise UserError(_exists(out))
                ledger, corpus = _begin(config, out, variants, list(command), say)
            else:
                ledger, corpus = _go_on(config, out, list(command), say)
        except UserError:
            if fresh and not (out / MANIFEST).exists():
                _remove(out)
            raise
        model_config = dc.replace(config.model, vocabulary=corpus.vocabulary.size)
        grid = _Grid(config, model_config, corpus, ledger, stop_after, say)
        for seed in config.seeds:
            for variant in variants:
                cell = ledger.cells[f"{variant.text}/{seed}"]
                folder = cell_folder(out, cell.slug, seed)
                if cell.state in DONE:
                    lost = unreadable(folder, cell)
                    if lost is None:
                        grid.sample(variant, cell)
                        continue
                    say(f"{cell.name} is {cell.state}, but {lost}")
                signal = should_stop()
                if signal is None:
                    shown, extra = progress(cell.name), trackers(cell, folder)
                    signal = grid.run(variant, cell, resume, shown, extra, should_stop)
                if signal is not None:
                    return 128 + signal
                grid.sample(variant, ledger.cells[cell.name])
    diverged = [cell for cell in ledger.cells.values() if cell.state == "diverged"]
    if diverged:
        names = ", ".join(f"{cell.name} at step {cell.step}" for cell in diverged)
        notify(f"diverged: {names}; the best weights before that are kept")
    return 1 if diverged else 0


def _check_out(
    config: ExperimentConfig, out: pathlib.Path, variants: Sequence[Variant], resume: bool
) -> dict[str, Any] | None:
    """Return the manifest to go on with, None for a new run."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file: choose another --out")
    if not resume:
        if (out / MANIFEST).exists():
            raise UserError(_exists(out))
        if out.exists() and any(not p.name.startswith(".") for p in out.iterdir()):
            raise UserError(f"{out} is not empty and holds no run: choose another --out")
        return None
    if not (out / MANIFEST).exists():
        raise UserError(f"{out} holds no run to resume: leave out --resume to begin one")
    manifest = read_manifest(out)
    refuse_imported(manifest, out, "cannot go on: choose another --out, without --resume")
    found = differences(config_from_dict(manifest["configuration"]), config)
    found = [d for d in found if d[0] != "corpus" or not _same_corpus(manifest, config)]
    if found:
        what = "; ".join(f"{name} {_shown(a)}, not {_shown(b)}" for name, a, b in found[:3])
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise UserError(
            f"{out} was begun with {what}{more}: resume with the same configuration, or choose "
            "another --out"
        )
    check_files(out, variants, manifest)
    return manifest


def _exists(out: pathlib.Path) -> str:
    return f"{out} holds a run already: add --resume to go on with it, or choose another --out"


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _same_corpus(manifest: dict[str, Any], config: ExperimentConfig) -> bool:
    """Whether another way to write the path means the recorded text."""
    location = manifest["corpus"].get("location")
    if manifest["corpus"].get("kind") not in ("file", "gzip", "folder") or not location:
        return False
    return pathlib.Path(location).resolve() == pathlib.Path(config.corpus).resolve()


def _begin(
    config: ExperimentConfig,
    out: pathlib.Path,
    variants: Sequence[Variant],
    command: list[str],
    notify: Callable[[str], None],
) -> tuple[Ledger, Corpus]:
    corpus = load_corpus(config.corpus, allow_fallback=config.allow_fallback, notify=notify)
    check_length(corpus, config.model.context)
    model_config = dc.replace(config.model, vocabulary=corpus.vocabulary.size)
    for variant in variants:
        try_variant(variant, model_config)
    counts = {v.text: parameter_count(v.integrator, model_config) for v in variants}
    files = keep_files(out, variants)
    session = _session(command)
    manifest = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "created": session["started"],
        "configuration": config,
        **{k: session[k] for k in ("source", "environment", "device", "command")},
        "corpus": {"name": corpus.name, **corpus.source},
        "vocabulary": {
            "characters": corpus.vocabulary.characters,
            "size": corpus.vocabulary.size,
            "sha256": corpus.vocabulary.sha256,
        },
        "variants": [
            {
                "text": v.text,
                "slug": v.slug,
                "description": describe_text(v),
                "axes": describe_axes(v.integrator),
                "parameters": counts[v.text],
                "integrator_parameters": count_own_parameters(v.integrator, model_config),
                "file": files.get(v.text),
            }
            for v in variants
        ],
        "cells": [
            dc.asdict(CellRecord(variant=v.text, slug=v.slug, seed=seed))
            for seed in config.seeds
            for v in variants
        ],
        "sessions": [session],
    }
    ledger = Ledger(out, manifest)
    ledger.write()
    return ledger, corpus


def _go_on(
    config: ExperimentConfig, out: pathlib.Path, command: list[str], notify: Callable[[str], None]
) -> tuple[Ledger, Corpus]:
    # Read again: only now does the lock keep it from changing.
    manifest = read_manifest(out)
    corpus = corpus_from_record(manifest["corpus"], notify=notify)
    if corpus.vocabulary.sha256 != manifest["vocabulary"].get("sha256"):
        raise UserError(f"the vocabulary of the corpus is not the one that {out} records")
    check_length(corpus, config.model.context)
    session = _session(command)
    changed = [
        f"{name} {was} then, {session['environment'].get(name)} now"
        for name, was in manifest.get("environment", {}).items()
        if was != session["environment"].get(name)
    ]
    kind, here = manifest.get("device", {}).get("kind"), session["device"]["kind"]
    if kind is not None and kind != here:
        changed.append(f"device {kind} then, {here} now")
    if changed:
        notify(f"resuming in another environment ({'; '.join(changed)}): bits may differ")
    if manifest.get("source", {}).get("sha256") != session["source"]["sha256"]:
        notify("resuming with another version of velocity-ledger's source: bits may differ")
    sessions = [*manifest.get("sessions", []), session]
    ledger = Ledger(out, manifest | {"sessions": sessions})
    ledger.write()
    return ledger, corpus


def _session(command: list[str]) -> dict[str, Any]:
    return {
        "started": now(),
        "command": _environment.command(command),
        "source": _environment.source(),
        "environment": _environment.environment(),
        "device": _environment.device(),
    }


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


class _Grid:
    """What the cells of a run share."""

    def __init__(
        self,
        config: ExperimentConfig,
        model_config: ModelConfig,
        corpus: Corpus,
        ledger: Ledger,
        stop_after: int | None,
        notify: Callable[[str], None],
    ) -> None:
        self.config, self.model_config, self.corpus = config, model_config, corpus
        self.ledger, self.stop_after, self.notify = ledger, stop_after, notify
        self.data = Data(corpus.train, corpus.val)

    def run(
        self,
        variant: Variant,
        cell: CellRecord,
        resume: bool,
        progress: Progress,
        trackers: Sequence[Tracker],
        should_stop: Callable[[], int | None],
    ) -> int | None:
        """Train one cell; return the signal that interrupted it, if one did."""
        name, ledger = cell.name, self.ledger
        folder = cell_folder(ledger.folder, cell.slug, cell.seed)
        with ledger.saving(name):
            folder.mkdir(parents=True, exist_ok=True)
            ledger.update(name, state="running", reason=None, message=None)
        # One seed draws one parameter alike in every variant: the runs are paired.
        model = GPT(self.model_config, variant.integrator, rngs=cell.seed)

        def save(found: Snapshot | Run) -> dict[str, Any]:
            self._write(folder, variant, cell.seed, model, found)
            return {
                "step": found.step, "best_val": found.best_val, "best_step": found.best_step,
            }  # fmt: skip

        def on_save(snapshot: Snapshot) -> None:
            with ledger.saving(name):
                ledger.update(name, **save(snapshot))

        try:
            run = train(
                model,
                self.data,
                self.config.training,
                seed=cell.seed,
                folder=folder,
                resume=resume,
                stop_after=self.stop_after,
                on_save=on_save,
                trackers=(JsonlTracker(folder / LOG), *trackers),
                progress=progress,
                should_stop=should_stop,
                notify=self.notify,
            )
            with ledger.saving(name):
                changes = save(run)
                ledger.update(
                    name,
                    **changes,
                    state="finished" if run.reason == "patience" else run.reason,
                    reason=run.reason,
                    compile_s=run.compile_s,
                    train_s=run.train_s,
                    tokens_per_second=run.tokens_per_second,
                )
        except BaseException as error:
            with contextlib.suppress(Exception):
                ledger.update(name, state="interrupted", message=str(error) or repr(error))
            raise
        return run.signal if run.reason == "interrupted" else None

    def sample(self, variant: Variant, cell: CellRecord) -> None:
        """Write a cell's sample, if it has weights and no sample of theirs."""
        folder = cell_folder(self.ledger.folder, cell.slug, cell.seed)
        length = self.config.sample
        kept = read_sample(folder) or {}
        if not length or cell.best_val is None or kept.get("step") == cell.best_step:
            return
        try:
            model = GPT(self.model_config, variant.integrator, rngs=cell.seed)
            model.import_weights(_weights.read_weights(folder / _weights.NAME)[0])
            record = draw_sample(model, step=cell.best_step, length=length, corpus=self.corpus)
        except Exception as error:
            # The cell is whole without it.
            if variant.file is None:
                raise
            self.notify(f"{variant.text} writes no sample ({first_line(error)})")
            return
        with self.ledger.saving(cell.name):
            write_sample(folder, record)

    def _write(
        self, folder: pathlib.Path, variant: Variant, seed: int, model: GPT, found: Snapshot | Run
    ) -> None:
        """Write a cell's weights and measurements as they are at a save.

        The weights go first, and say themselves which loss they reproduce: whoever reads between
        two writes is not misled.
        """
        about: dict[str, Any] = {
            "variant": variant.text,
            "seed": seed,
            "best_val": found.best_val,
            "best_step": found.best_step,
        }
        if found.best is not None:
            metadata = about | {
                "vocabulary_sha256": self.corpus.vocabulary.sha256,
                "config": self.config,
                "format": FORMAT,
            }
            weights = model.export_weights(found.best)
            _weights.write_weights(folder / _weights.NAME, weights, metadata)
        history = found.history
        measured = {step: _split(m) for step, m in history.telemetry.items()}
        whole, missing = _filled({step: path for step, (path, _) in measured.items()})
        if missing:
            self.notify(
                f"the version that began this run did not measure {', '.join(missing)}: unknown "
                "(NaN) at the training steps that it measured"
            )
        paths = path_dataset(whole, windows=self.config.training.probe_windows)
        learned = {step: own for step, (_, own) in measured.items()}
        dataset = cell_dataset(
            train_loss=history.train_loss,
            val_step=history.val_step,
            val_loss=history.val_loss,
            paths=paths,
            nulls=self._nulls(variant, paths, learned),
            learned=learned,
            attributes=about
            | {
                "config": self.config,
                "null_model": "the integrator over mutually orthogonal increments of the measured "
                "mean lengths, with what it had learned by that checkpoint",
            },
        )
        write_cell(folder / NAME, dataset)

    def _nulls(
        self, variant: Variant, paths: Any, learned: Mapping[int, Mapping[str, Any]]
    ) -> dict[int, dict[str, float]]:
        """The null model of each checkpoint, as a function of what is saved and nothing else."""
        found: dict[int, dict[str, float]] = {}
        try:
            for step, own in learned.items():
                found[step] = null_of_checkpoint(
                    paths,
                    step,
                    variant.integrator,
                    width=self.model_config.width,
                    parameters={name: jnp.asarray(value) for name, value in own.items()},
                )
        except Exception as error:
            # An integrator that reads more than its stream has no path without a model.
            if variant.file is None:
                raise
            self.notify(f"{variant.text} has no null model ({first_line(error)})")
        return found


def _split(measurement: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A measurement's path, and what the integrator had learned."""
    path = {k: v for k, v in measurement.items() if not k.startswith(LEARNED)}
    own = {k.removeprefix(LEARNED): v for k, v in measurement.items() if k.startswith(LEARNED)}
    return path, own


def _filled(
    measured: Mapping[int, Mapping[str, Any]],
) -> tuple[dict[int, dict[str, Any]], list[str]]:
    """Measurements that all hold the same quantities, and which of these had to be made NaN.

    A run that goes on in a newer version begins with measurements of the older one.
    """
    known = {name: value for path in measured.values() for name, value in path.items()}
    lacking = {name for name in known if any(name not in path for path in measured.values())}
    missing = sorted(lacking)
    unknown = {name: np.full_like(known[name], np.nan) for name in missing}
    return {step: {**unknown, **path} for step, path in measured.items()}, missing
