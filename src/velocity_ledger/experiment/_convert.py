"""A trained cell goes on under another integrator."""

import dataclasses as dc
import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from velocity_ledger import integrators
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _weights
from velocity_ledger.experiment._bundle import Bundle, open_bundle
from velocity_ledger.experiment._cells import cell_folder
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._continued import continued, trained
from velocity_ledger.experiment._corpus import recorded_corpus
from velocity_ledger.experiment._files import sha256
from velocity_ledger.experiment._load import canonical, find_cell, load_cell
from velocity_ledger.experiment._manifest import (
    NAME as MANIFEST,
    config_from_dict,
    read_manifest,
    refuse_imported,
)
from velocity_ledger.experiment._run import run_experiment
from velocity_ledger.experiment._start import CONVERTED_FROM, Start
from velocity_ledger.experiment._variants import variants_of
from velocity_ledger.integrators import Integrator
from velocity_ledger.model import GPT, convert
from velocity_ledger.training import Anneal, TrainingConfig


def convert_cell(
    path: str | os.PathLike[str],
    cell: str,
    to: str,
    out: str | os.PathLike[str],
    *,
    over: int,
    training: TrainingConfig | None = None,
    shape: str = "linear",
    begin: str | None = None,
    seed: int | None = None,
    sample: int = 300,
    resume: bool = False,
    **given: Any,
) -> int:
    """Train the best weights of a cell on as another integrator, into the bundle `out`.

        convert_cell("runs/quick", "plain/0", "ledger(mu=0.9)", "runs/risen", over=200)

    The integrator's numbers move from those that make it the cell's own to those of `to` over
    `over` steps, and stay (see `Anneal.between`). Over 0 steps the integrator changes at once, also
    to one that no numbers lead to. `begin` is the text form of an integrator of the structure of
    `to` to begin with instead. The text is the one that the run recorded; windows and dropout are
    drawn from `seed`, the cell's own unless given; the optimizer begins anew. `training` is as the
    cell itself was trained (its variant's own settings, the rate that a sweep found) without
    patience, unless given. Best validation, and with it what `load_cell` gives, is that of `to`
    itself: it counts from the step of arrival.

    `out` holds one cell, of the variant `to`; its manifest's `converted_from` names the run, the
    cell, the step and hash of its weights, and the way of the numbers. What is `given` beside, and
    what is returned, is as in `run_experiment`. With `resume` the run of `path` is not needed any
    more once the first step is done.

    Raises `UserError` where the weights cannot serve `to` (see `convert`), no numbers lead there or
    they would arrive after the last step, and as `load_cell` and `run_experiment` do.
    """
    out = pathlib.Path(out)
    (variant,) = variants_of([to])
    if variant.own:
        raise UserError(
            "a converted cell keeps its shape, and its training is set by options: write "
            f"{variant.form!r}"
        )
    if resume and os.path.isfile(out / MANIFEST):
        record, config = _recorded(out, path, cell)
    else:
        record, config = _found(path, cell)
        # What the weights cannot serve is said before what numbers cannot reach.
        _turned(record, variant.integrator)
    training = config.training if training is None else training
    if over > training.steps:
        raise UserError(
            f"the numbers arrive after {over} steps, training ends after {training.steps}: convert "
            "over fewer steps, or train for more"
        )
    anneal = _anneal(record, variant.integrator, over, shape, begin)
    start = Start(
        record | {"schedule": _told(anneal)},
        anneal,
        corpus=lambda notify: recorded_corpus(read_manifest(pathlib.Path(path)), path, notify),
        weights=lambda: _start_weights(record, anneal.start),
    )
    if not resume:
        _turned(record, anneal.start, given.get("notify"))
    wanted = ExperimentConfig(
        model=config.model,
        training=training,
        variants=(variant.text,),
        seeds=(record["seed"] if seed is None else seed,),
        corpus=config.corpus,
        allow_fallback=config.allow_fallback,
        sample=sample,
    )
    return run_experiment(wanted, out, resume=resume, start=start, **given)


def _found(path: str | os.PathLike[str], cell: str) -> tuple[dict[str, Any], ExperimentConfig]:
    """What is to be kept of a trained cell, and how it goes on unless told otherwise."""
    bundle = open_bundle(path)
    refuse_imported(bundle.manifest, bundle.path, "holds no weights to convert")
    found = find_cell(bundle, cell)
    weights = cell_folder(bundle.path, found.slug, found.seed) / _weights.NAME
    model = load_cell(path, found.name)
    metadata = _weights.read_weights(weights)[1]
    try:
        step, best = int(metadata["best_step"]), float(metadata["best_val"])
    except (KeyError, ValueError) as error:
        raise UserError(
            f"{weights} does not say which step it is of: restore it, or run the cell again"
        ) from error
    record = {
        "bundle": str(bundle.path.resolve()),
        "cell": found.name,
        "seed": found.seed,
        "integrator": str(model.integrator),
        "step": step,
        "best_val": best,
        "sha256": sha256(weights),
    }
    config = trained(bundle.manifest, found.variant)
    return record, dc.replace(config, training=continued(config.training))


def _recorded(
    out: pathlib.Path, path: str | os.PathLike[str], cell: str
) -> tuple[dict[str, Any], ExperimentConfig]:
    """The same, of a conversion that has begun."""
    manifest = read_manifest(out)
    record = manifest.get(CONVERTED_FROM)
    if record is None:
        raise UserError(f"{out} was not made by convert: choose another --out")
    if pathlib.Path(path).resolve() != pathlib.Path(record["bundle"]):
        raise UserError(f"{out} was begun from {record['bundle']}, not {path}")
    variant, _, seed = cell.rpartition("/")
    if f"{canonical(variant)}/{seed}" != record["cell"]:
        raise UserError(f"{out} was begun from the cell {record['cell']}, not {cell}")
    return record, config_from_dict(manifest["configuration"])


def _anneal(
    record: Mapping[str, Any], target: Integrator, over: int, shape: str, begin: str | None
) -> Anneal:
    if begin is not None:
        return Anneal(integrators.parse(begin), target, over, shape)
    if not over:
        return Anneal(target, target, 0, shape)
    return Anneal.between(integrators.parse(record["integrator"]), target, over, shape)


def _told(anneal: Anneal) -> dict[str, Any]:
    return {
        "start": str(anneal.start),
        "end": str(anneal.end),
        "steps": anneal.steps,
        "shape": anneal.shape,
    }


def _turned(
    record: Mapping[str, Any],
    integrator: Integrator,
    notify: Callable[[str], None] | None = lambda text: None,
) -> GPT:
    """The trained cell's model under another integrator."""
    model = load_cell(record["bundle"], record["cell"])
    said = {} if notify is None else {"notify": notify}
    return convert(model, integrator, rngs=record["seed"], **said)


def _start_weights(record: Mapping[str, Any], start: Integrator) -> Mapping[str, Any]:
    bundle = open_bundle(record["bundle"])
    found = find_cell(bundle, record["cell"])
    path = cell_folder(bundle.path, found.slug, found.seed) / _weights.NAME
    if sha256(path) != record["sha256"]:
        raise UserError(
            f"{path} holds other weights than when the conversion began: begin again in another "
            "--out"
        )
    return _turned(record, start).export_weights()


def converted(bundle: Bundle) -> str:
    """Return a sentence on what a conversion did to the validation loss, nats a token.

    Raises `UserError` for another bundle.
    """
    record = bundle.manifest.get(CONVERTED_FROM)
    if record is None:
        raise UserError(f"{bundle.path} was not made by convert")
    (cell,) = bundle.cells
    schedule = record["schedule"]
    parts = [f"{record['cell']} of {record['bundle']} at step {record['step']:,}: "]
    parts[0] += f"{record['best_val']:.4f}"
    data = bundle.datasets.get((cell.variant, cell.seed))
    if data is not None and data.sizes.get("validation"):
        steps, losses = data["validation"].values, data["val_loss"].values
        begun = steps == 0
        if begun.any():
            parts.append(f"as {schedule['start']} {losses[begun][0]:.4f}")
        arrived = steps >= schedule["steps"]
        if schedule["steps"] and arrived.any():
            before = losses[~arrived & ~begun]
            if before.size:
                parts.append(f"at most {before.max():.4f} on the way")
            parts.append(f"{losses[arrived][0]:.4f} at step {steps[arrived][0]:,}")
    if cell.best_val is not None and cell.best_step is not None:
        parts.append(f"best {cell.best_val:.4f} at step {cell.best_step:,}")
    return "; ".join(parts)
