"""A bundle written in the published layout."""

import dataclasses as dc
import json
import math
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from velocity_ledger._files import try_folder, write_aside
from velocity_ledger.errors import UserError
from velocity_ledger.exchange._layout import CURVES, DEPTH, cell_name, spelling
from velocity_ledger.exchange._lost import Fate, lost
from velocity_ledger.experiment import Bundle, mean_over_tokens, open_bundle, summary

NPZ, JSON = "velocity_ledger.npz", "velocity_ledger.json"
_ROUNDING = 1e-6


@dc.dataclass(frozen=True)
class Exported:
    """What an export wrote, and what of the bundle has no place in its layout."""

    files: list[pathlib.Path]
    arrays: int
    lost: list[str]
    """One sentence a kind of loss, computed from what was and was not written."""


def export_published(run: pathlib.Path, out: pathlib.Path) -> Exported:
    """Write a run in the layout of the published files: one npz, one JSON, in the folder `out`.

    The arrays are those of the article, means over the probe's tokens in float64, `turn` in
    degrees over the tokens where the angle is defined; `rawstep` is left out where it is `seglen`
    in every entry, to 1e-6 of it. `ckpt_steps` holds the checkpoints of all cells; a cell lacks the
    `ck{i}_` of those that it was not measured at. The JSON has, a run: `best_val_loss` (nats a
    token), `best_step`, `best_bpc` (= best_val_loss / ln 2), `final_val_loss` (the last
    validation's), `params`, `wall_s` (compiling and training, seconds), `sample` (prompt and
    text); a variant: path and turn at the last checkpoint of all its cells, means over
    its runs, `best_val_std` with ddof 0. Not finite is null. A variant other than the four goes by
    its folder's name, and `config.variants` maps every spelling to the text form.

    Raises `UserError` for a folder that is no bundle or has nothing to write, for two variants of
    one spelling, and where `out` has such files already or cannot be written.
    """
    bundle = open_bundle(run)
    files = [out / NPZ, out / JSON]
    for path in files:
        if path.exists():
            raise UserError(f"{path} exists: choose another --out")
    spelled = _spellings(bundle)
    arrays, fates = _arrays(bundle, spelled)
    runs = _runs(bundle, spelled)
    if not arrays and not runs:
        raise UserError(f"{run} holds no measurements yet: train first, then export")
    record = {
        "config": _config(bundle, spelled),
        "comparison": _comparison(bundle, spelled),
        "runs": runs,
    }
    text = json.dumps(_strict(record), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    try_folder(out)
    write_aside(files[0], lambda part: _write_npz(part, arrays))
    write_aside(files[1], lambda part: part.write_text(text, encoding="utf-8"))
    return Exported(files, len(arrays), lost(bundle, fates))


def _spellings(bundle: Bundle) -> dict[str, str]:
    """Text form to spelling, for every variant of the bundle."""
    slugs = {cell.variant: cell.slug for cell in bundle.cells}
    found = {text: spelling(text, slug) for text, slug in slugs.items()}
    owner: dict[str, str] = {}
    for text, name in found.items():
        if owner.setdefault(name, text) != text:
            raise UserError(
                f"{owner[name]} and {text} would both be spelled {name}: export runs of one each"
            )
    return found


def _write_npz(path: pathlib.Path, arrays: Mapping[str, np.ndarray]) -> None:
    # By an open file: given a path, NumPy would add a suffix.
    with open(path, "wb") as handle:
        np.savez_compressed(handle, **arrays)  # pyright: ignore[reportArgumentType]


def _arrays(
    bundle: Bundle, spelled: Mapping[str, str]
) -> tuple[dict[str, np.ndarray], dict[str, Fate]]:
    """All arrays by name, and what became of each variable of the cells."""
    steps = sorted({int(c) for d in bundle.datasets.values() for c in _checkpoints(d)})
    found: dict[str, np.ndarray] = {}
    if steps:
        found["ckpt_steps"] = np.asarray(steps, np.int64)
    fates: dict[str, Fate] = {}
    for (variant, seed), data in bundle.datasets.items():
        cell = cell_name(spelled[variant], seed)
        fate = fates[f"{variant}/{seed}"] = Fate(data)
        for name, ours in CURVES.items():
            if ours in data:
                found[f"{cell}/{name}"] = data[ours].values
                fate.whole.add(ours)
        for name, rows in _depth(data, fate).items():
            for checkpoint, row in zip(_checkpoints(data), rows, strict=True):
                found[f"{cell}/ck{steps.index(checkpoint)}_{name}"] = row
    return found, fates


def _depth(data: xr.Dataset, fate: Fate) -> dict[str, np.ndarray]:
    """By the published suffix, [checkpoint, entry]."""
    found = {}
    for name, ours in DEPTH.items():
        if ours not in data or "sub_update" not in data[ours].dims:
            continue
        if name == "rawstep" and _same(data, ours, DEPTH["seglen"]):
            fate.repeated.add(ours)
            continue
        rows = _means(data[ours], "sub_update")
        if name == "xnorm" and "initial_norm" in data:
            rows = np.concatenate([_means(data["initial_norm"])[:, None], rows], axis=1)
            fate.written(data["initial_norm"])
        if name == "turn":
            rows = rows[:, 1:]  # The first step turns from nothing.
        found[name] = rows
        fate.written(data[ours])
    return found


def _means(values: xr.DataArray, *along: str) -> np.ndarray:
    return mean_over_tokens(values).transpose("checkpoint", *along).values


def _same(data: xr.Dataset, one: str, other: str) -> bool:
    """Whether two means are one number but for the rounding of float32."""
    if other not in data:
        return False
    a, b = (_means(data[name], "sub_update") for name in (one, other))
    return np.allclose(a, b, rtol=_ROUNDING, atol=0.0, equal_nan=True)


def _checkpoints(data: xr.Dataset) -> list[int]:
    return [int(c) for c in data["checkpoint"].values] if "checkpoint" in data.coords else []


def _runs(bundle: Bundle, spelled: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    samples = getattr(bundle, "samples", {})
    counts = {v["text"]: v.get("parameters") for v in bundle.variants}
    kept = _kept(bundle, "runs")
    found = {}
    for cell in bundle.cells:
        data = bundle.datasets.get((cell.variant, cell.seed))
        sample = samples.get((cell.variant, cell.seed))
        if data is None and cell.best_val is None and sample is None:
            continue
        name = cell_name(spelled[cell.variant], cell.seed)
        losses = data["val_loss"].values if data is not None and "val_loss" in data else []
        seconds = [s for s in (cell.compile_s, cell.train_s) if s is not None]
        best = cell.best_val
        record = {
            "best_val_loss": best,
            "best_step": cell.best_step,
            "best_bpc": None if best is None else best / math.log(2),
            "final_val_loss": float(losses[-1]) if len(losses) else None,
            "params": counts.get(cell.variant),
            "wall_s": math.fsum(seconds) if seconds else None,
            "sample": None if sample is None else f"{sample.get('prompt') or ''}{sample['text']}",
        }
        known = {key: value for key, value in record.items() if value is not None}
        found[name] = {**kept.get(name, {}), **known}
    return found


def _comparison(bundle: Bundle, spelled: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    best = {(c.variant, c.seed): c.best_val for c in bundle.cells}
    found = {}
    for row in summary(bundle):
        values = [v for seed in row.seeds if (v := best[row.variant, seed]) is not None]
        if row.variant in spelled and row.seeds:
            found[spelled[row.variant]] = {
                "best_val_mean": row.best_val,
                "best_val_std": float(np.std(values)) if values else None,
                "best_bpc_mean": row.bits_per_character,
                "best_step_mean": row.best_step,
                "params": row.parameters,
                "seeds": list(row.seeds),
                "path": row.path_length,
                "turn": row.turning_angle,
            }
    return found


def _config(bundle: Bundle, spelled: Mapping[str, str]) -> dict[str, Any]:
    """The configuration in one level, with what tells spellings, text and vocabulary."""
    recorded = dict(bundle.manifest["configuration"])
    flat = {**_kept(bundle, "config")}
    for part in ("model", "training", "integrator"):
        flat |= recorded.pop(part, {})
    # Of a search, which the layout has no place for: `lost` says so.
    recorded.pop("sweep", None)
    flat |= recorded
    flat["variants"] = {spelled[v["text"]]: v["text"] for v in bundle.variants
                        if v["text"] in spelled}  # fmt: skip
    for name in ("corpus", "vocabulary"):
        if bundle.manifest[name]:
            flat[f"{name}_record"] = bundle.manifest[name]
    return flat


def _kept(bundle: Bundle, part: str) -> dict[str, Any]:
    """What an import could not read of a part of the JSON, and kept."""
    found: Any = bundle.manifest.get("origin")
    for name in ("not_understood", "json", part):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _strict(value: Any) -> Any:
    """`value` with null for what is not finite."""
    if isinstance(value, Mapping):
        return {str(k): _strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
