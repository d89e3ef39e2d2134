"""A bundle of what others measured, written whole or not at all."""

import contextlib
import dataclasses as dc
import os
import pathlib
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _environment, _json
from velocity_ledger.experiment._cells import NAME, SAMPLE, cell_folder, write_cell
from velocity_ledger.experiment._files import try_folder, write_aside
from velocity_ledger.experiment._manifest import (
    FORMAT,
    NAME as MANIFEST,
    SCHEMA_VERSION,
    CellRecord,
    now,
    read_manifest,
    slugs,
    write_manifest,
)

ORIGINALS = "origin"
"""Folder of a bundle with the files that it was imported from."""


def write_imported(
    out: pathlib.Path,
    *,
    origin: Mapping[str, Any],
    configuration: Mapping[str, Any],
    corpus: Mapping[str, Any],
    vocabulary: Mapping[str, Any],
    variants: Mapping[str, int | None],
    cells: Sequence[CellRecord],
    datasets: Mapping[tuple[str, int], xr.Dataset],
    samples: Mapping[tuple[str, int], Mapping[str, Any]],
    originals: Mapping[str, pathlib.Path] = {},
    command: Sequence[str] = (),
) -> None:
    """Write a bundle that no run made; it appears in one step, or not at all.

    `variants` are texts with their number of parameters, the first being the reference; the
    records' folder names are made from them. `datasets` and `samples` go by (text, seed), and may
    lack cells. What is unknown is left out of `configuration`, `corpus` and `vocabulary`. `origin`
    says where all this is from; `originals` are kept, by name, as they
    are.

    Raises `UserError` where `out` exists and is not empty, or cannot be written.
    """
    out = out.absolute()
    check_new(out)
    folder = dict(zip(variants, slugs(list(variants)), strict=True))
    records = [dc.replace(cell, slug=folder[cell.variant]) for cell in cells]
    manifest = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "created": now(),
        "origin": {**origin, "source": _environment.source()},
        "configuration": configuration,
        "command": _environment.command(list(command)),
        "corpus": corpus,
        "vocabulary": vocabulary,
        "variants": [
            {"text": text, "slug": folder[text], "parameters": count}
            for text, count in variants.items()
        ],
        "cells": records,
    }
    try_folder(out.parent)
    aside = out.parent / f".{out.name}.{os.getpid()}.part"
    try:
        aside.mkdir()
        for name, path in originals.items():
            (aside / ORIGINALS).mkdir(exist_ok=True)
            target = aside / ORIGINALS / name
            write_aside(target, lambda part, path=path: shutil.copyfile(path, part))
        for record in records:
            key = record.variant, record.seed
            place = cell_folder(aside, record.slug, record.seed)
            place.mkdir(parents=True)
            if key in datasets:
                write_cell(place / NAME, datasets[key])
            if key in samples:
                text = _json.dumps(samples[key]) + "\n"
                write_aside(place / SAMPLE, _writer(text))
        write_manifest(aside, manifest)
        read_manifest(aside)  # What cannot be opened again must not be left.
        with contextlib.suppress(OSError):
            out.rmdir()  # Empty, as was seen.
        os.rename(aside, out)
    except OSError as error:
        raise UserError(
            f"cannot write {out} ({error.strerror or error}): choose another --out"
        ) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def check_new(out: pathlib.Path) -> None:
    """Raise `UserError` unless `out` is free, or an empty folder."""
    try:
        if out.exists() and not out.is_dir():
            raise UserError(f"{out} is a file: choose another --out")
        if (out / MANIFEST).exists():
            raise UserError(f"{out} holds a run already: choose another --out")
        if out.exists() and any(out.iterdir()):
            raise UserError(f"{out} is not empty: choose another --out")
    except OSError as error:
        raise UserError(f"cannot look into {out}: {error.strerror or error}") from error


def _writer(text: str) -> Any:
    return lambda part: part.write_text(text, encoding="utf-8")
