"""The cells of a run: swept, trained, written and sampled."""

import contextlib
import dataclasses as dc
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from velocity_ledger.corpus import Corpus
from velocity_ledger.experiment import _weights
from velocity_ledger.experiment._cells import (
    NAME,
    cell_dataset,
    cell_folder,
    read_sample,
    write_cell,
)
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._files import saved
from velocity_ledger.experiment._ledger import Ledger
from velocity_ledger.experiment._manifest import FORMAT, CellRecord
from velocity_ledger.experiment._sample import draw_sample, write_sample
from velocity_ledger.experiment._start import Start
from velocity_ledger.experiment._sweep import is_swept, run_sweep
from velocity_ledger.experiment._trial import first_line
from velocity_ledger.experiment._trials import at_rate, best_rate, read_trials
from velocity_ledger.experiment._variants import Variant
from velocity_ledger.model import GPT
from velocity_ledger.telemetry import null_of_checkpoint, path_dataset
from velocity_ledger.training import (
    LEARNED,
    Data,
    JsonlTracker,
    Progress,
    Run,
    Seed,
    Snapshot,
    Tracker,
    train_stacked,
)

LOG = "log.jsonl"


class Grid:
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
