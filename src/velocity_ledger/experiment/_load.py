"""A trained model out of a bundle."""

import dataclasses as dc
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from velocity_ledger.corpus import Vocabulary
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _weights
from velocity_ledger.experiment._bundle import Bundle, open_bundle
from velocity_ledger.experiment._cells import cell_folder
from velocity_ledger.experiment._continued import trained
from velocity_ledger.experiment._manifest import CellRecord, refuse_imported
from velocity_ledger.experiment._variants import recorded_integrator, variants_of
from velocity_ledger.model import GPT, ModelConfig

_LACKS = "holds no weights: give the folder of a run of your own"


def load_cell(path: str | os.PathLike[str], cell: str) -> GPT:
    """Return the model of a cell with its best weights so far: `load_cell(RUN, "ledger/0")`.

    A cell is a variant, a slash and a seed. The model reproduces the best validation that
    `cell_metadata` reports. Raises `UserError` where there is no such cell, it has no weights yet,
    its file is damaged, or the vocabulary is not the one it was trained with.
    """
    bundle = _with_weights(path)
    record = find_cell(bundle, cell)
    weights, metadata = _weights.read_weights(_file(bundle, record))
    vocabulary = vocabulary_of(bundle)
    if metadata.get("vocabulary_sha256") != vocabulary.sha256:
        raise UserError(
            f"{_file(bundle, record)} was trained with another vocabulary than {bundle.path} "
            "records: restore the file, or run the cell again"
        )
    variant = next(v for v in bundle.variants if v["text"] == record.variant)
    integrator = recorded_integrator(bundle.path, variant)
    model = GPT(model_config(bundle, record.variant), integrator, rngs=record.seed)
    try:
        model.import_weights(weights)
    except UserError as error:
        raise UserError(
            f"{_file(bundle, record)} does not fit its model ({error}): restore it, or run the "
            "cell again"
        ) from error
    return model


def cell_metadata(path: str | os.PathLike[str], cell: str) -> dict[str, str]:
    """Return what a cell's weights say of themselves: best_val, best_step, variant, seed, config.

    Raises `UserError` as `load_cell` does.
    """
    bundle = _with_weights(path)
    return _weights.read_weights(_file(bundle, find_cell(bundle, cell)))[1]


def find_cell(bundle: Bundle, cell: str) -> CellRecord:
    """Return the record of a cell named by variant (text or folder name), slash, seed."""
    if not isinstance(cell, str):
        raise UserError(f"a cell is a text like 'ledger/0', got {cell!r}")
    # A variant may be a path: the seed is what follows the last slash.
    variant, _, seed = cell.rpartition("/")
    for record in bundle.cells:
        if seed == str(record.seed) and variant in (record.variant, record.slug):
            return record
    variant = canonical(variant)
    for record in bundle.cells:
        if variant == record.variant and seed == str(record.seed):
            return record
    there = ", ".join(record.name for record in bundle.cells)
    raise UserError(f"{bundle.path} has no cell {cell!r}: choose one of {there}")


def canonical(variant: str) -> str:
    """Return how a run names a variant written otherwise: `ledger(mu=.9)` is `ledger`."""
    try:
        return variants_of([variant])[0].text
    except UserError:
        return variant


def vocabulary_of(bundle: Bundle) -> Vocabulary:
    """Return the vocabulary of a run.

    Raises `UserError` where the manifest's characters are not those of its hash.
    """
    refuse_imported(bundle.manifest, bundle.path, _LACKS)
    return vocabulary_of_record(bundle.manifest["vocabulary"], bundle.path)


def vocabulary_of_record(record: Mapping[str, Any], where: pathlib.Path) -> Vocabulary:
    """Return the vocabulary that a manifest records, after checking its hash."""
    try:
        vocabulary = Vocabulary(record["characters"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"the vocabulary of {where} is damaged ({error})") from error
    if vocabulary.sha256 != record.get("sha256"):
        raise UserError(f"the vocabulary of {where} does not have the hash recorded beside it")
    return vocabulary


def model_config(bundle: Bundle, variant: str) -> ModelConfig:
    """Return the shape of a variant's models, with the vocabulary of the run's corpus."""
    refuse_imported(bundle.manifest, bundle.path, _LACKS)
    own = trained(bundle.manifest, variant)
    return dc.replace(own.model, vocabulary=bundle.manifest["vocabulary"]["size"])


def _with_weights(path: str | os.PathLike[str]) -> Bundle:
    bundle = open_bundle(path)
    refuse_imported(bundle.manifest, bundle.path, _LACKS)
    return bundle


def _file(bundle: Bundle, record: CellRecord) -> pathlib.Path:
    return cell_folder(bundle.path, record.slug, record.seed) / _weights.NAME
