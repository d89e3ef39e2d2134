"""Two runs told apart: what was asked for, on what, and what came out."""

import dataclasses as dc
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from velocity_ledger.exchange._layout import canonical
from velocity_ledger.exchange._numbers import Agreement, agreement, parted
from velocity_ledger.experiment import Bundle, CellRecord
from velocity_ledger.telemetry import Interval, paired_difference, summarise

METRICS = {
    "best_val": "best validation, nats a token",
    "path_length": "path length",
    "turning_angle": "turning angle, degrees",
    "straightness": "straightness",
    "path_over_norm": "path over norm, mean of ratios",
    "path_over_mean_norm": "path over norm, ratio of means",
}
"""What is compared of a variant. The last is what means over tokens leave of the one before it."""

_Key = tuple[str, int]


@dc.dataclass(frozen=True)
class Field:
    """One entry of two records; `known` says on which sides it is."""

    name: str
    a: Any
    b: Any
    known: str = "both"


@dc.dataclass(frozen=True)
class Metric:
    """One quantity of a variant in both runs: means over the seeds of each, None where unknown.

    `difference` is B minus A; `paired` its interval over common seeds, else `unpaired` says why
    there is none.
    """

    name: str
    a: float | None
    b: float | None
    difference: float | None
    paired: Interval | None
    unpaired: str | None


@dc.dataclass(frozen=True)
class VariantPair:
    """One variant that both runs have."""

    a: str
    b: str
    seeds_a: tuple[int, ...]
    seeds_b: tuple[int, ...]
    checkpoint_a: int | None
    checkpoint_b: int | None
    metrics: tuple[Metric, ...]


@dc.dataclass(frozen=True)
class CurvePair:
    """Where the curves of one cell part, at the steps that both have; None where they do not."""

    cell: str
    curve: str
    common: int
    first_unequal: int | None
    first_apart: int | None
    """First step at which they differ beyond tolerance."""


@dc.dataclass(frozen=True)
class Comparison:
    """How two bundles differ; `a` and `b` are their folders."""

    a: str
    b: str
    verdict: str
    """`identical`, `within tolerance` or `different`, of the numbers that both hold."""
    differ: bool
    """Whether anything that both know differs: numbers beyond tolerance, cells, settings, text."""
    numbers: Agreement
    configuration: tuple[Field, ...]
    corpus: tuple[Field, ...]
    same_corpus: bool | None
    """None where it is not known."""
    environment: tuple[Field, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    variants: tuple[VariantPair, ...]
    curves: tuple[CurvePair, ...]
    notes: tuple[str, ...]


def compare_bundles(a: Bundle, b: Bundle) -> Comparison:
    """Compare two bundles, a run's or imported, by what both of them know.

    Variants are the same by text form, the published spellings being ours. Numbers are identical
    bit for bit, or within tolerance: 1e-5 of the largest magnitude of the quantity at hand. Where
    one side has values a token and the other means, means are compared. Scalars of the path are
    those of the last checkpoint that both have. Pairs are formed by seed, over common seeds, where
    both runs read the same text; a run's finished cells count, as in its table.
    """
    cells = _cells(a), _cells(b)
    names = [f"{text}/{seed}" for text, seed in cells[0]], [f"{t}/{s}" for t, s in cells[1]]
    common = [key for key in cells[0] if key in cells[1]]
    data = _datasets(a), _datasets(b)
    configuration = _fields(_flat(_configuration(a)), _flat(_configuration(b)))
    corpus = _fields(_text(a), _text(b))
    same = _same_corpus(a, b)
    found = agreement(
        {k: (data[0][k], data[1][k]) for k in common if k in data[0] and k in data[1]},
        {k: (cells[0][k].best_val, cells[1][k].best_val) for k in common},
    )
    only_a = tuple(n for n in names[0] if n not in names[1])
    only_b = tuple(n for n in names[1] if n not in names[0])
    states = [
        f"{cells[0][k].name} is {cells[0][k].state} in A, {cells[1][k].state} in B"
        for k in common
        if cells[0][k].state != cells[1][k].state
    ]
    known = any(f.known == "both" for f in configuration)
    return Comparison(
        a=str(a.path),
        b=str(b.path),
        verdict=found.verdict,
        differ=found.verdict == "different" or known or same is False
        or bool(only_a or only_b or states or found.other_steps),
        numbers=found,
        configuration=configuration,
        corpus=corpus,
        same_corpus=same,
        environment=_fields(_environment(a), _environment(b)),
        only_a=only_a,
        only_b=only_b,
        variants=tuple(_variants(a, b, cells, data, same)),
        curves=tuple(
            CurvePair(f"{k[0]}/{k[1]}", name, *parted(data[0][k], data[1][k], name, along))
            for k in common
            if k in data[0] and k in data[1]
            for name, along in (("val_loss", "validation"), ("train_loss", "step"))
            if name in data[0][k] and name in data[1][k]
        ),
        notes=tuple(states + _notes(a, b)),
    )  # fmt: skip


def _cells(bundle: Bundle) -> dict[_Key, CellRecord]:
    return {(canonical(c.variant), c.seed): c for c in bundle.cells}


def _datasets(bundle: Bundle) -> dict[_Key, xr.Dataset]:
    return {(canonical(v), seed): data for (v, seed), data in bundle.datasets.items()}


def _configuration(bundle: Bundle) -> dict[str, Any]:
    """The settings of a run, but for its variants, seeds and text, which are told by themselves."""
    record = dict(bundle.manifest["configuration"])
    # An integrator's numbers are in the text forms of the variants.
    for name in ("variants", "seeds", "corpus", "integrator"):
        record.pop(name, None)
    model = dict(record.get("model") or {})
    # The configuration's vocabulary is a default, which the corpus overrules.
    size = bundle.manifest["vocabulary"].get("size")
    if size is not None:
        model["vocabulary"] = size
    return record | ({"model": model} if model else {})


def _text(bundle: Bundle) -> dict[str, Any]:
    corpus = {f"corpus.{k}": v for k, v in bundle.manifest["corpus"].items() if k != "note"}
    vocabulary = bundle.manifest["vocabulary"]
    return corpus | {f"vocabulary.{k}": v for k, v in vocabulary.items()}


def _environment(bundle: Bundle) -> dict[str, Any]:
    m = bundle.manifest
    found = {f"environment.{k}": v for k, v in (m.get("environment") or {}).items()}
    found |= {f"device.{k}": v for k, v in (m.get("device") or {}).items()}
    sessions = [s for s in m.get("sessions") or [] if isinstance(s, Mapping)]
    if sessions:
        found["stack_seeds"] = any(bool(s.get("stack_seeds")) for s in sessions)
    return found | {f"source.{k}": v for k, v in (m.get("source") or {}).items()}


def _flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def _fields(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[Field, ...]:
    """The entries that differ, or that only one side has."""
    found = []
    for name in dict.fromkeys([*a, *b]):
        if name not in a or name not in b:
            found.append(Field(name, a.get(name), b.get(name), "A" if name in a else "B"))
        elif a[name] != b[name]:
            found.append(Field(name, a[name], b[name]))
    return tuple(found)


def _same_corpus(a: Bundle, b: Bundle) -> bool | None:
    """Whether both read the same text: by its hash, else by its length, else unknown."""
    one, other = a.manifest["corpus"], b.manifest["corpus"]
    for name in ("sha256", "characters"):
        if one.get(name) is not None and other.get(name) is not None:
            return one[name] == other[name]
    return None


def _variants(
    a: Bundle,
    b: Bundle,
    cells: tuple[Mapping[_Key, CellRecord], Mapping[_Key, CellRecord]],
    data: tuple[Mapping[_Key, xr.Dataset], Mapping[_Key, xr.Dataset]],
    same: bool | None,
) -> list[VariantPair]:
    texts = [{canonical(v["text"]): v["text"] for v in bundle.variants} for bundle in (a, b)]
    found = []
    for text in texts[0]:
        if text not in texts[1]:
            continue
        used = [_used(side, text) for side in cells]
        at = _checkpoints(data, used, text)
        values = [
            {
                seed: _scalars(cell, data[k].get((text, seed)), at[k])
                for seed, cell in used[k].items()
            }
            for k in (0, 1)
        ]
        found.append(
            VariantPair(
                a=texts[0][text],
                b=texts[1][text],
                seeds_a=tuple(used[0]),
                seeds_b=tuple(used[1]),
                checkpoint_a=at[0],
                checkpoint_b=at[1],
                metrics=tuple(_metric(name, values, used, at, same) for name in METRICS),
            )
        )
    return found


def _used(cells: Mapping[_Key, CellRecord], text: str) -> dict[int, CellRecord]:
    """The finished cells of a variant; where none is, those under way."""
    own = {seed: cell for (t, seed), cell in cells.items() if t == text}
    finished = {seed: cell for seed, cell in own.items() if cell.state == "finished"}
    begun = {seed: cell for seed, cell in own.items() if cell.state not in ("pending", "diverged")}
    return finished or begun


def _checkpoints(
    data: tuple[Mapping[_Key, xr.Dataset], Mapping[_Key, xr.Dataset]],
    used: list[dict[int, CellRecord]],
    text: str,
) -> tuple[int | None, int | None]:
    """The last checkpoint of all cells of both sides; else the last of each side."""
    steps = []
    for side, cells in zip(data, used, strict=True):
        measured = [side[text, seed] for seed in cells if (text, seed) in side]
        each = [set(d["checkpoint"].values.tolist()) for d in measured if d.sizes.get("sub_update")]
        steps.append(set[int]().union(*each).intersection(*each))
    both = steps[0] & steps[1]
    if both:
        return max(both), max(both)
    return max(steps[0], default=None), max(steps[1], default=None)


def _scalars(cell: CellRecord, data: xr.Dataset | None, checkpoint: int | None) -> dict[str, float]:
    found = {} if cell.best_val is None else {"best_val": cell.best_val}
    if data is None or checkpoint is None or checkpoint not in data["checkpoint"].values:
        return found
    summary = summarise(data, checkpoint)
    if summary.get("final_norm", 0.0) > 0 and "path_length" in summary:
        summary["path_over_mean_norm"] = summary["path_length"] / summary["final_norm"]
    return found | {k: v for k, v in summary.items() if k in METRICS and math.isfinite(v)}


def _metric(
    name: str,
    values: list[dict[int, dict[str, float]]],
    used: list[dict[int, CellRecord]],
    at: tuple[int | None, int | None],
    same: bool | None,
) -> Metric:
    sides = [{seed: v[name] for seed, v in side.items() if name in v} for side in values]
    a, b = (float(np.mean(list(side.values()))) if side else None for side in sides)
    seeds = [seed for seed in sides[0] if seed in sides[1]]
    paired, why = None, None
    if a is None or b is None:
        missing = "both" if a is None and b is None else "A" if a is None else "B"
        why = f"unknown in {missing}"
    elif same is False:
        why = "other texts do not compare"
    elif same is None:
        why = "whether both read the same text is not known"
    elif not seeds:
        why = "no seed in common"
    elif name != "best_val" and at[0] != at[1]:
        why = f"measured at other steps, {at[0]:,} and {at[1]:,}"
    elif name == "best_val" and any(used[0][s].step != used[1][s].step for s in seeds):
        why = "trained for other numbers of steps"
    else:
        paired = paired_difference([sides[1][s] for s in seeds], [sides[0][s] for s in seeds])
    difference = None if a is None or b is None else b - a
    return Metric(name, a, b, difference, paired, why)


def _notes(a: Bundle, b: Bundle) -> list[str]:
    imported = [name for name, bundle in (("A", a), ("B", b)) if bundle.config is None]
    notes = []
    if imported:
        notes.append(
            f"{' and '.join(imported)} imported: equal seeds need not have drawn equal weights and "
            "windows, so pairs by seed may be pairs by name only."
        )
    hashes = [bundle.manifest["corpus"].get("sha256") for bundle in (a, b)]
    if None in hashes and _same_corpus(a, b):
        notes.append("The texts count as the same by their number of characters alone.")
    return notes
