"""Running a grid of cells into a bundle."""

import contextlib
import dataclasses as dc
import os
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from velocity_ledger.corpus import Corpus, check_length, load_corpus
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
from velocity_ledger.experiment._corpus import recorded_corpus
from velocity_ledger.experiment._describe import (
    count_own_parameters,
    forward_flops,
    parameter_count,
)
from velocity_ledger.experiment._files import clear_asides, locked, saved, try_folder
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
from velocity_ledger.experiment._match import Matched, with_matches
from velocity_ledger.experiment._repair import unreadable
from velocity_ledger.experiment._sample import draw_sample, write_sample
from velocity_ledger.experiment._start import CONVERTED_FROM, Start, check_start
from velocity_ledger.experiment._sweep import is_swept, run_sweep
from velocity_ledger.experiment._trial import first_line, try_variant
from velocity_ledger.experiment._trials import at_rate, best_rate, read_trials
from velocity_ledger.experiment._variants import (
    Variant,
    as_recorded,
    check_files,
    describe_axes,
    describe_text,
    keep_files,
    variants_of,
)
from velocity_ledger.model import GPT
from velocity_ledger.telemetry import null_of_checkpoint, path_dataset
from velocity_ledger.training import (
    LEARNED,
    Data,
    JsonlTracker,
    Progress,
    RichProgress,
    Run,
    Seed,
    Snapshot,
    Tracker,
    stop_signals,
    train_stacked,
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
    recorded = _check_out(config, out, variants, resume, add)
    check_start(recorded, start, out)
    fresh = not os.path.exists(out)
    try_folder(out)
    say = _once(notify)
    with contextlib.ExitStack() as stack:
        should_stop = stack.enter_context(stop_signals())
        stack.enter_context(locked(out))
        clear_asides(out)
        session = _session(list(command), device, stack_seeds)
        try:
            if recorded is None:
                if os.path.exists(out / MANIFEST):
                    raise UserError(_exists(out))
                ledger, corpus = _begin(config, out, variants, session, say, start)
            else:
                ledger, corpus = _go_on(config, out, variants, session, say)
        except UserError:
            if fresh and not os.path.exists(out / MANIFEST):
                _remove(out)
            raise
        config = _with_vocabulary(_configuration(ledger.manifest), corpus)
        records = ledger.manifest["variants"]
        variants = as_recorded(variants_of([v["text"] for v in records]), records)
        grid = _Grid(config, corpus, ledger, stop_after, say, start)
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


def _check_out(
    config: ExperimentConfig,
    out: pathlib.Path,
    variants: Sequence[Variant],
    resume: bool,
    add: bool,
) -> dict[str, Any] | None:
    """Return the manifest to go on with, None for a new run."""
    if os.path.exists(out) and not os.path.isdir(out):
        raise UserError(f"{out} is a file: choose another --out")
    if not resume:
        if os.path.exists(out / MANIFEST):
            raise UserError(_exists(out))
        if os.path.exists(out) and any(not p.name.startswith(".") for p in out.iterdir()):
            raise UserError(f"{out} is not empty and holds no run: choose another --out")
        return None
    if not os.path.exists(out / MANIFEST):
        raise UserError(f"{out} holds no run to resume: leave out --resume or --add to begin one")
    manifest = read_manifest(out)
    refuse_imported(manifest, out, "cannot go on: choose another --out, without --resume")
    found = differences(config_from_dict(manifest["configuration"]), config)
    found = [d for d in found if d[0] != "corpus" or not _same_corpus(manifest, config)]
    if add:
        found = [d for d in found if d[0] not in ("variants", "seeds")]
    if found:
        what = "; ".join(f"{name} {_shown(a)}, not {_shown(b)}" for name, a, b in found[:3])
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise UserError(
            f"{out} was begun with {what}{more}: resume with the same configuration, "
            f"{'--add variants and seeds, ' if _only_more(found) else ''}or choose another --out"
        )
    check_files(out, variants, manifest)
    return manifest


def _only_more(found: Sequence[tuple[str, Any, Any]]) -> bool:
    return {name for name, _, _ in found} <= {"variants", "seeds"}


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
    session: dict[str, Any],
    notify: Callable[[str], None],
    start: Start | None = None,
) -> tuple[Ledger, Corpus]:
    corpus = (
        load_corpus(config.corpus, allow_fallback=config.allow_fallback, notify=notify)
        if start is None
        else start.corpus(notify)
    )
    check_length(corpus, config.model.context)
    sized = _with_vocabulary(config, corpus)
    variants, matches = with_matches(variants, sized)
    _say_matches(matches, config, notify)
    for variant in variants:
        try_variant(variant, variant.configure(sized).model)
    with saved(out, "run again"):
        files = keep_files(out, variants)
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
        "variants": [_variant_record(v, sized, matches, files) for v in variants],
        "cells": _cells(variants, config),
        "sessions": [session],
        **({} if start is None else {CONVERTED_FROM: start.record}),
    }
    ledger = Ledger(out, manifest)
    with saved(out, "run again"):
        ledger.write()
    return ledger, corpus


def _variant_record(
    variant: Variant,
    config: ExperimentConfig,
    matches: Mapping[str, Matched],
    files: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    """What the manifest says of a variant; `config` knows the vocabulary."""
    own = variant.configure(config)
    match = matches.get(variant.text)
    return {
        "text": variant.text,
        "slug": variant.slug,
        "description": describe_text(variant),
        "axes": describe_axes(variant.integrator),
        "parameters": parameter_count(variant.integrator, own.model),
        "flops_per_token_forward": forward_flops(variant.integrator, own.model),
        "integrator_parameters": count_own_parameters(variant.integrator, own.model),
        "sub_updates": own.model.layers * len(variant.integrator.splitting.kinds),
        "peak_rate": None if is_swept(variant, config) else own.training.peak_rate,
        "own": dict(variant.own) or None,
        "match": None if match is None else dc.asdict(match),
        "file": files.get(variant.text),
    }


def _configuration(manifest: Mapping[str, Any]) -> ExperimentConfig:
    found = manifest["configuration"]
    return found if isinstance(found, ExperimentConfig) else config_from_dict(found)


def _cells(variants: Sequence[Variant], config: ExperimentConfig) -> list[dict[str, Any]]:
    return [
        dc.asdict(CellRecord(variant=v.text, slug=v.slug, seed=seed))
        for seed in config.seeds
        for v in variants
    ]


def _with_vocabulary(config: ExperimentConfig, corpus: Corpus) -> ExperimentConfig:
    return dc.replace(config, model=dc.replace(config.model, vocabulary=corpus.vocabulary.size))


def _say_matches(
    matches: Mapping[str, Matched], config: ExperimentConfig, notify: Callable[[str], None]
) -> None:
    what = "parameters" if config.match == "params" else "FLOPs a token"
    for variant, match in matches.items():
        off = 100 * (match.size / match.wanted - 1)
        notify(
            f"{variant} has {match.wanted:,} {what}: matched by {match.text}, "
            f"{match.size:,} ({off:+.1f} %)"
        )


def _joined(
    manifest: dict[str, Any],
    config: ExperimentConfig,
    out: pathlib.Path,
    given: Sequence[Variant],
    corpus: Corpus,
    notify: Callable[[str], None],
) -> dict[str, Any]:
    """Return a manifest that also has the variants and seeds given, what it had as it was."""
    recorded = config_from_dict(manifest["configuration"])
    known = {v["text"]: v for v in manifest["variants"]}
    joined = dc.replace(
        recorded,
        variants=(*recorded.variants, *(v.text for v in given if v.text not in known)),
        seeds=(*recorded.seeds, *(s for s in config.seeds if s not in recorded.seeds)),
    )
    if joined == recorded:
        return manifest
    sized = _with_vocabulary(joined, corpus)
    texts = [*known, *(v.text for v in given if v.text not in known)]
    there = as_recorded(variants_of(texts), manifest["variants"])
    variants, matches = with_matches(there, sized, done=known)
    new = [v for v in variants if v.text not in known]
    _say_matches(matches, joined, notify)
    for variant in new:
        try_variant(variant, variant.configure(sized).model)
    with saved(out):
        files = keep_files(out, variants)
    records = [known.get(v.text) or _variant_record(v, sized, matches, files) for v in variants]
    there = {(c["variant"], c["seed"]): c for c in manifest["cells"]}
    cells = [there.get((c["variant"], c["seed"]), c) for c in _cells(variants, joined)]
    return manifest | {"configuration": joined, "variants": records, "cells": cells}


def _go_on(
    config: ExperimentConfig,
    out: pathlib.Path,
    variants: Sequence[Variant],
    session: dict[str, Any],
    notify: Callable[[str], None],
) -> tuple[Ledger, Corpus]:
    # Read again: only now does the lock keep it from changing.
    manifest = read_manifest(out)
    corpus = recorded_corpus(manifest, out, notify)
    check_length(corpus, config.model.context)
    changed = [
        f"{name} {was} then, {session['environment'].get(name)} now"
        for name, was in manifest.get("environment", {}).items()
        if was != session["environment"].get(name)
    ]
    kind, here = manifest.get("device", {}).get("kind"), session["device"]["kind"]
    if kind is not None and kind != here:
        changed.append(f"device {kind} then, {here} now")
    before = [s for s in manifest.get("sessions", []) if isinstance(s, Mapping)]
    if any(bool(s.get("stack_seeds")) != session["stack_seeds"] for s in before):
        changed.append("seeds stacked in some sessions, not in others")
    if changed:
        notify(f"resuming in another environment ({'; '.join(changed)}): bits may differ")
    if manifest.get("source", {}).get("sha256") != session["source"]["sha256"]:
        notify("resuming with another version of velocity-ledger's source: bits may differ")
    manifest = _joined(manifest, config, out, variants, corpus, notify)
    sessions = [*manifest.get("sessions", []), session]
    ledger = Ledger(out, manifest | {"sessions": sessions})
    with saved(out):
        ledger.write()
    return ledger, corpus


def _session(command: list[str], device: str, stack_seeds: bool) -> dict[str, Any]:
    return {
        "started": now(),
        "command": _environment.command(command),
        "source": _environment.source(),
        "environment": _environment.environment(),
        "device": _environment.device(device),
        "stack_seeds": stack_seeds,
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
        corpus: Corpus,
        ledger: Ledger,
        stop_after: int | None,
        notify: Callable[[str], None],
        start: Start | None = None,
    ) -> None:
        self.config, self.corpus, self.start = config, corpus, start
        self.ledger, self.stop_after, self.notify = ledger, stop_after, notify
        self.data = Data(corpus.train, corpus.val)
        self.rates: dict[str, float] = {}

    def own(self, variant: Variant) -> ExperimentConfig:
        """The configuration of a variant's cells, at the rate that the sweep found."""
        config = variant.configure(self.config)
        rate = self.rates.get(variant.text)
        if rate is None:
            return config
        return dc.replace(config, training=at_rate(config.training, rate))

    def sweep(
        self,
        variants: Sequence[Variant],
        progress: Callable[[str], Progress],
        should_stop: Callable[[], int | None],
    ) -> int | None:
        """Find the rates that are to be found; return the signal that interrupted, if one did."""
        out, records = self.ledger.folder, self.ledger.manifest["variants"]
        swept = [v for v in variants if is_swept(v, self.config)]
        signal = run_sweep(out, self.config, swept, self.data, self.own, progress, should_stop)
        if signal is not None or not swept:
            return signal
        trials = read_trials(out)
        for variant in swept:
            rate = best_rate(trials, variant.text)
            if rate is None:
                rate = min(self.config.sweep.rates)
                self.notify(f"{variant.text} diverged at every rate: it goes on at {rate:g}")
            self.rates[variant.text] = rate
        for record in records:
            record["peak_rate"] = self.rates.get(record["text"], record.get("peak_rate"))
        with saved(out):
            self.ledger.write()
        return None

    def run(
        self,
        variant: Variant,
        cells: Sequence[CellRecord],
        resume: bool,
        progress: Progress,
        trackers: Sequence[Sequence[Tracker]],
        should_stop: Callable[[], int | None],
    ) -> int | None:
        """Train a variant's cells side by side; return the signal that interrupted, if one did."""
        names = [cell.name for cell in cells]
        try:
            seeds = [
                self._seed(variant, cell, extra)
                for cell, extra in zip(cells, trackers, strict=True)
            ]
            runs = train_stacked(
                seeds,
                self.data,
                self.own(variant).training,
                anneal=None if self.start is None else self.start.anneal,
                resume=resume,
                stop_after=self.stop_after,
                progress=progress,
                should_stop=should_stop,
                notify=self.notify,
            )
        except BaseException as error:
            for name in names:
                if self.ledger.cells[name].state == "running":
                    with contextlib.suppress(Exception):
                        said = str(error) or repr(error)
                        self.ledger.update(name, state="interrupted", message=said)
            raise
        return next((run.signal for run in runs if run.reason == "interrupted"), None)

    def _seed(self, variant: Variant, cell: CellRecord, trackers: Sequence[Tracker]) -> Seed:
        """What a cell trains with, and what is written of it on the way and at its end."""
        name, ledger = cell.name, self.ledger
        folder = cell_folder(ledger.folder, cell.slug, cell.seed)
        with ledger.saving(name):
            folder.mkdir(parents=True, exist_ok=True)
            ledger.update(name, state="running", reason=None, message=None)
        # One seed draws one parameter alike in every variant: the runs are paired.
        own = self.own(variant)
        model = (
            GPT(own.model, variant.integrator, rngs=cell.seed)
            if self.start is None
            else self.start.model(own.model, folder, cell.seed)
        )

        def save(found: Snapshot | Run) -> dict[str, Any]:
            self._write(folder, variant, cell.seed, model, found)
            return {
                "step": found.step, "best_val": found.best_val, "best_step": found.best_step,
            }  # fmt: skip

        def on_save(snapshot: Snapshot) -> None:
            with ledger.saving(name):
                ledger.update(name, **save(snapshot))

        def on_end(run: Run) -> None:
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

        return Seed(
            model, cell.seed, folder, (JsonlTracker(folder / LOG), *trackers), on_save, on_end
        )

    def sample(self, variant: Variant, cell: CellRecord) -> None:
        """Write a cell's sample, if it has weights and no sample of theirs."""
        folder = cell_folder(self.ledger.folder, cell.slug, cell.seed)
        length = self.config.sample
        kept = read_sample(folder) or {}
        if not length or cell.best_val is None or kept.get("step") == cell.best_step:
            return
        try:
            model = GPT(self.own(variant).model, variant.integrator, rngs=cell.seed)
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
        own = self.own(variant)
        about: dict[str, Any] = {
            "variant": variant.text,
            "seed": seed,
            "best_val": found.best_val,
            "best_step": found.best_step,
        }
        if found.best is not None:
            metadata = about | {
                "vocabulary_sha256": self.corpus.vocabulary.sha256,
                "config": own,
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
                "config": own,
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
                    variant.integrator if self.start is None else self.start.anneal.at(step),
                    width=self.own(variant).model.width,
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
