"""The manifest of a bundle: what was asked for, by what, on what, and how far each cell is."""

import dataclasses as dc
import datetime
import os
import pathlib
import re
import types
import typing
from collections.abc import Sequence
from typing import Any

from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _json
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._files import write_aside

SCHEMA_VERSION = 1
FORMAT = "velocity-ledger bundle"
NAME = "manifest.json"
STATES = ("pending", "running", "interrupted", "stopped", "finished", "diverged")
DONE = ("finished", "diverged")
"""States that a resumed run leaves as they are."""

_REQUIRED: dict[str, type] = {
    "configuration": dict,
    "corpus": dict,
    "vocabulary": dict,
    "variants": list,
    "cells": list,
}
_OPTIONAL: dict[str, type] = {
    "sessions": list,
    "environment": dict,
    "source": dict,
    "device": dict,
    "origin": dict,
    "converted_from": dict,
}
_OF_VARIANT: dict[str, Any] = {
    "description": str,
    "axes": dict,
    "parameters": int,
    "flops_per_token_forward": int,
    "integrator_parameters": int,
    "sub_updates": int,
    "peak_rate": float,
    "own": dict,
    "match": {"text": str, "size": int, "wanted": int},
    "file": {"path": str, "copy": str, "sha256": str},
}
"""What may be known of a variant."""
_OF_CONVERSION: dict[str, Any] = {
    "bundle": str,
    "cell": str,
    "seed": int,
    "integrator": str,
    "step": int,
    "best_val": float,
    "sha256": str,
    "schedule": {"start": str, "end": str, "steps": int, "shape": str},
}
_MOST = 2**63  # of a number that is not damaged


@dc.dataclass(frozen=True)
class CellRecord:
    """How far one cell is; numbers are None until they exist."""

    variant: str
    """Text form of the integrator."""
    slug: str
    """Folder of the variant in the bundle."""
    seed: int
    state: str = "pending"
    reason: str | None = None
    """What ended it: finished, stopped, patience, interrupted or diverged."""
    step: int = 0
    best_val: float | None = None
    """Nats a token."""
    best_step: int | None = None
    compile_s: float | None = None
    train_s: float | None = None
    tokens_per_second: float | None = None
    message: str | None = None

    @property
    def name(self) -> str:
        """The name `load_cell` takes: variant, a slash, seed."""
        return f"{self.variant}/{self.seed}"


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def slugs(texts: Sequence[str]) -> list[str]:
    """Return a folder name for each text, distinct even where case does not count."""
    taken: set[str] = set()
    names = []
    for text in texts:
        base = re.sub(r"[^A-Za-z0-9._=-]+", "-", text).strip("-.") or "variant"
        slug, k = base, 1
        while slug.lower() in taken:
            k += 1
            slug = f"{base}-{k}"
        taken.add(slug.lower())
        names.append(slug)
    return names


def write_manifest(folder: pathlib.Path, manifest: dict[str, Any]) -> None:
    """Write `manifest` in one step."""
    text = _json.dumps({**manifest, "updated": now()})
    write_aside(folder / NAME, lambda aside: aside.write_text(text + "\n", encoding="utf-8"))


def read_manifest(folder: pathlib.Path) -> dict[str, Any]:
    """Read and check the manifest of a bundle.

    Raises `UserError` where `folder` is no bundle, its manifest is damaged or from a newer
    version.
    """
    path = folder / NAME
    # Unlike pathlib's, these take a name that is too long, or hidden, for one that is not there.
    if not os.path.isdir(folder):
        what = "is a file" if os.path.exists(folder) else "does not exist"
        raise UserError(f"{folder} {what}: give the folder of a run")
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError) as error:
        raise UserError(f"{folder} is not a bundle: it has no {NAME}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is damaged (not UTF-8): restore it, or run again") from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        manifest = _json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged (not JSON): restore it, or run again") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise UserError(f"{folder} is not a bundle: its {NAME} is another program's")
    version = manifest.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise UserError(f"{path} is damaged (no schema_version): restore it, or run again")
    if version > SCHEMA_VERSION:
        raise UserError(
            f"{folder} was written by a newer velocity-ledger (schema {version}, this one reads "
            f"up to {SCHEMA_VERSION}): upgrade velocity-ledger"
        )
    for key, kind in _REQUIRED.items():
        if not isinstance(manifest.get(key), kind):
            raise UserError(f"{path} is damaged (no {key}): restore it, or run again")
    for key, kind in _OPTIONAL.items():
        if key in manifest and not isinstance(manifest[key], kind):
            raise UserError(f"{path} is damaged ({key}): restore it, or run again")
    _check_parts(manifest, folder)
    return manifest


def _check_parts(manifest: dict[str, Any], folder: pathlib.Path) -> None:
    """Raise `UserError` where a part is not whole, or does not fit the others."""
    path = folder / NAME
    cells = cell_records(manifest, folder)
    variants, vocabulary = manifest["variants"], manifest["vocabulary"]
    texts = [v["text"] for v in variants if _is_variant(v)]
    characters, size = vocabulary.get("characters"), vocabulary.get("size")
    text_size = manifest["corpus"].get("characters")
    start = manifest.get("converted_from")
    whole = {
        "converted_from": start is None or (_is_like(start, _OF_CONVERSION) and len(cells) == 1),
        "variants": len(texts) == len(variants) == len(set(texts))
        and all(cell.variant in texts for cell in cells),
        "vocabulary": characters is size is None
        or (isinstance(characters, str) and _is_a(size, int) and size == len(characters)),
        "corpus": text_size is None or (_is_a(text_size, int) and text_size > 0),
    }
    for part, good in whole.items():
        if not good:
            raise UserError(f"{path} is damaged ({part}): restore it, or run again")
    if is_imported(manifest):
        # Its configuration is what other people's files said.
        for part in ("model", "training", "integrator"):
            if not isinstance(manifest["configuration"].get(part, {}), dict):
                raise UserError(f"{path} is damaged ({part}): restore it, or import again")
        return
    try:
        config = config_from_dict(manifest["configuration"])
    except UserError as error:
        raise UserError(f"{path}: {error}; restore it, or run again") from error
    # A run adds variants of its own: the reference in the sizes of the others.
    grid = {(variant, seed) for variant in texts for seed in config.seeds}
    whole = (
        set(texts) >= set(config.variants)
        if config.match != "none"
        else set(texts) == set(config.variants)
    )
    if not whole or {(c.variant, c.seed) for c in cells} != grid:
        raise UserError(
            f"{path} is damaged (its cells are not those of its configuration): restore it, or "
            "run again"
        )


def is_imported(manifest: dict[str, Any]) -> bool:
    """Whether the bundle was made from files of another program, and not by a run."""
    return manifest.get("origin") is not None


def refuse_imported(manifest: dict[str, Any], folder: pathlib.Path, lacks: str) -> None:
    """Raise `UserError` where a bundle was imported: it `lacks` what only a run leaves."""
    if is_imported(manifest):
        raise UserError(f"{folder} was imported from files and {lacks}")


def _is_variant(record: Any) -> bool:
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        return False
    known = {name: record[name] for name in _OF_VARIANT if record.get(name) is not None}
    match = known.get("match")
    return (
        all(_is_like(value, _OF_VARIANT[name]) for name, value in known.items())
        and all(_is_a(axis, str) for axis in known.get("axes", {}).values())
        and (match is None or min(match["size"], match["wanted"]) > 0)
    )


def _is_like(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind, a record's fields each of theirs; whole numbers are numbers."""
    if isinstance(kind, dict):
        return isinstance(value, dict) and all(_is_like(value.get(k), v) for k, v in kind.items())
    return _is_a(value, kind) or (kind is float and _is_a(value, int))


def cell_records(manifest: dict[str, Any], folder: pathlib.Path | str = "") -> list[CellRecord]:
    """Return the cells of a manifest, in the order they are run."""
    records = []
    for cell in manifest["cells"]:
        record = _cell_record(cell)
        if record is None:
            path = pathlib.Path(folder) / NAME
            raise UserError(f"{path} is damaged (cells): restore it, or run again")
        records.append(record)
    return records


def _cell_record(cell: Any) -> CellRecord | None:
    hints = typing.get_type_hints(CellRecord)
    try:
        record = CellRecord(**{k: _value(hints[k], v, k) for k, v in cell.items() if k in hints})
        good = (
            re.fullmatch(r"[A-Za-z0-9._=-]+", record.slug) is not None
            and record.slug not in (".", "..")
            and record.state in STATES
        )
    except Exception:
        # Missing fields, or fields of other types: also what a type checker objects to.
        return None
    return record if good else None


def config_from_dict(record: dict[str, Any]) -> ExperimentConfig:
    """Return the configuration that a manifest holds.

    Raises `UserError` where a field is unknown to this version or of another type.
    """
    return _build(ExperimentConfig, record, "")


def differences(recorded: Any, given: Any, prefix: str = "") -> list[tuple[str, Any, Any]]:
    """Return (dotted field, recorded value, given value) wherever two configurations differ."""
    found: list[tuple[str, Any, Any]] = []
    for field in dc.fields(given):
        a, b = getattr(recorded, field.name), getattr(given, field.name)
        name = f"{prefix}{field.name}"
        if dc.is_dataclass(a) and dc.is_dataclass(b):
            found += differences(a, b, f"{name}.")
        elif a != b:
            found.append((name, a, b))
    return found


def _build(cls: type, record: Any, prefix: str) -> Any:
    if not isinstance(record, dict):
        raise UserError(f"the manifest's configuration is damaged at {prefix or 'its top'}")
    hints = typing.get_type_hints(cls)
    unknown = sorted(set(record) - set(hints))
    if unknown:
        raise UserError(
            f"the manifest's configuration has a field this version does not know: "
            f"{prefix}{unknown[0]}; use the version that wrote it"
        )
    values = {name: _value(hints[name], v, f"{prefix}{name}") for name, v in record.items()}
    try:
        return cls(**values)
    except UserError:
        raise
    except Exception as error:
        where = prefix.rstrip(".") or "its top"
        raise UserError(f"the manifest's configuration is damaged at {where}") from error


def _value(hint: Any, value: Any, name: str) -> Any:
    """Give back the type that JSON does not keep: nested dataclasses, tuples, floats."""
    if dc.is_dataclass(hint) and isinstance(hint, type):
        return _build(hint, value, f"{name}.")
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        if value not in args:
            raise UserError(f"the manifest's configuration is damaged at {name}")
        return value
    if origin in (types.UnionType, typing.Union):
        if value is None:
            return None
        return _value(next(a for a in args if a is not types.NoneType), value, name)
    if origin is tuple and isinstance(value, (list, tuple)):
        inner = args if args[-1] is not Ellipsis else (args[0],) * len(value)
        return tuple(_value(a, v, name) for a, v in zip(inner, value, strict=True))
    if origin is typing.Literal and value in args:
        return value
    if hint is float and _is_a(value, int):
        return float(value)
    if origin is not None or not _is_a(value, hint):
        raise UserError(f"the manifest's configuration is damaged at {name}")
    return value


def _is_a(value: Any, kind: Any) -> bool:
    """As `isinstance`, but that a truth value is no number, nor one that no float comes near."""
    if isinstance(value, int) and not -_MOST < value < _MOST:
        return False
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
