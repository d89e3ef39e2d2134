"""What a run found, one row a variant, and the same as a plain-text table."""

import dataclasses as dc
import math
from collections.abc import Mapping, Sequence
from typing import Any

from velocity_ledger._table import aligned
from velocity_ledger.experiment._bundle import Bundle
from velocity_ledger.experiment._cells import NULLS
from velocity_ledger.experiment._fairness import fairness_notes, no_ranking
from velocity_ledger.experiment._manifest import CellRecord
from velocity_ledger.telemetry import Interval, paired_difference, summarise

_TIERS = (("finished",), ("stopped", "interrupted", "running"), ("diverged",))


@dc.dataclass(frozen=True)
class Row:
    """One variant: means over the cells that `seeds` names.

    These are its finished cells; where none is, those under way. Lengths and angles are those of
    the last checkpoint that these cells have in common, and `null_*` is what the same integrator
    does with mutually orthogonal increments of the measured lengths. What is unknown is None.
    """

    variant: str
    state: str
    seeds: tuple[int, ...]
    parameters: int | None
    best_val: float | None
    """Nats a token."""
    bits_per_character: float | None
    difference: Interval | None
    """Best validation minus the first variant's, paired by seed; None for the first."""
    peak_rate: float | None
    """Learning rate after warm-up."""
    match: str | None
    """The first variant in this one's size, where the run trains that."""
    match_difference: Interval | None
    """Best validation minus that of `match`, paired by seed."""
    best_step: float | None
    step: int
    """Steps done, by the cell that has done fewest."""
    last_validation: int | None
    not_converged: tuple[int, ...]
    """Seeds whose best validation was their last one."""
    checkpoint: int | None
    path_length: float | None
    null_path_length: float | None
    turning_angle: float | None
    """Degrees."""
    null_turning_angle: float | None
    straightness: float | None
    null_straightness: float | None
    path_over_norm: float | None
    null_path_over_norm: float | None


def summary(bundle: Bundle) -> list[Row]:
    """Return one row a variant, from the bundle alone; a bundle half done gives rows too."""
    reference = bundle.variants[0]["text"] if bundle.variants else ""
    return [_row(bundle, v, reference) for v in bundle.variants]


def table(bundle: Bundle) -> str:
    """Return the summary as plain text: quality, then paths beside their null model, then notes."""
    rows = summary(bundle)
    first = rows[0].variant if rows else ""
    swept = bundle.config is not None and bool(bundle.config.sweep.rates)
    several = swept or len({r.peak_rate for r in rows}) > 1
    matched = any(r.match is not None for r in rows)
    quality = [
        ("variant", "cells", "parameters", *(("rate",) * several), "best val, nats", "bits/char",
         f"minus {first} [95 %]", *((f"minus {first} of its size",) * matched), "best step"),
        *(
            (r.variant, r.state, _whole(r.parameters),
             *((f"{r.peak_rate:g}" if r.peak_rate else "-",) * several), _number(r.best_val, 4),
             _number(r.bits_per_character, 4), _interval(r.difference),
             *((_interval(r.match_difference),) * matched), _whole(r.best_step))
            for r in rows
        ),
    ]  # fmt: skip
    paths = [
        ("variant", "at step", "path (null)", "turn, degrees (null)", "straightness (null)",
         "path/norm (null)"),
        *(
            (r.variant, _whole(r.checkpoint), _pair(r.path_length, r.null_path_length, 2),
             _pair(r.turning_angle, r.null_turning_angle, 1),
             _pair(r.straightness, r.null_straightness, 3),
             _pair(r.path_over_norm, r.null_path_over_norm, 3))
            for r in rows
        ),
    ]  # fmt: skip
    return "\n".join([aligned(quality), "", aligned(paths), "", *notes(bundle)])


def _row(bundle: Bundle, record: Mapping[str, Any], reference: str) -> Row:
    variant = record["text"]
    match = (record.get("match") or {}).get("text")
    cells = _used(bundle, variant)
    values = [c.best_val for c in cells if c.best_val is not None]
    steps = [float(c.best_step) for c in cells if c.best_step is not None]
    best_val = _mean(values)
    last = {c.seed: _last_validation(bundle, c) for c in cells}
    checkpoint, path = _path(bundle, cells)
    return Row(
        variant=variant,
        state=_state([c for c in bundle.cells if c.variant == variant]),
        seeds=tuple(c.seed for c in cells),
        parameters=record.get("parameters"),
        best_val=best_val,
        bits_per_character=None if best_val is None else best_val / math.log(2),
        difference=None if variant == reference else _difference(bundle, variant, reference),
        peak_rate=record.get("peak_rate"),
        match=match,
        match_difference=None if match is None else _difference(bundle, variant, match),
        best_step=_mean(steps),
        step=min((c.step for c in cells), default=0),
        last_validation=min((s for s in last.values() if s is not None), default=None),
        not_converged=tuple(
            c.seed for c in cells if c.best_step is not None and c.best_step == last[c.seed]
        ),
        checkpoint=checkpoint,
        **path,
    )


def _used(bundle: Bundle, variant: str) -> list[CellRecord]:
    cells = [c for c in bundle.cells if c.variant == variant]
    for tier in _TIERS:
        found = [c for c in cells if c.state in tier and c.step + (c.best_val is not None) > 0]
        if found:
            return found
    return []


def _state(cells: Sequence[CellRecord]) -> str:
    counts: dict[str, int] = {}
    for cell in cells:
        counts[cell.state] = counts.get(cell.state, 0) + 1
    return ", ".join(f"{n} {state}" for state, n in counts.items())


def _difference(bundle: Bundle, variant: str, reference: str) -> Interval | None:
    """Pair only cells that are equally far: another's first half is no rival."""
    others = {c.seed: c for c in _used(bundle, reference)}
    pairs = []
    for cell in _used(bundle, variant):
        other = others.get(cell.seed)
        if other is None or cell.best_val is None or other.best_val is None:
            continue
        both = {cell.state, other.state}
        if both == {"finished"} or (cell.step == other.step and "diverged" not in both):
            pairs.append((cell.best_val, other.best_val))
    if not pairs:
        return None
    return paired_difference([a for a, _ in pairs], [b for _, b in pairs])


def _last_validation(bundle: Bundle, cell: CellRecord) -> int | None:
    data = bundle.datasets.get((cell.variant, cell.seed))
    if data is None or not data.sizes.get("validation"):
        return None
    return int(data["validation"].values[-1])


def _path(
    bundle: Bundle, cells: Sequence[CellRecord]
) -> tuple[int | None, dict[str, float | None]]:
    """The last checkpoint that the cells have in common, and their means there."""
    measured = [
        data for c in cells if (data := bundle.datasets.get((c.variant, c.seed))) is not None
    ]
    found: dict[str, float | None] = {key: None for n in NULLS for key in (n, f"null_{n}")}
    steps = [{int(s) for s in data["checkpoint"].values} for data in measured]
    common = set[int]().union(*steps).intersection(*steps)
    if not common:
        return None, found
    checkpoint = max(common)
    scalars = [summarise(data, checkpoint) for data in measured]
    for name in NULLS:
        found[name] = _mean([s[name] for s in scalars if name in s])
        null = f"null_{name}"
        found[null] = _mean(
            [float(data[null].sel(checkpoint=checkpoint)) for data in measured if null in data]
        )
    return checkpoint, found


def _mean(values: Sequence[float]) -> float | None:
    """Mean of the values; None where there is none or it is not finite."""
    mean = math.fsum(values) / len(values) if values else math.nan
    return mean if math.isfinite(mean) else None


def notes(bundle: Bundle) -> list[str]:
    """Return what a reader of the summary must know, a sentence each; the table ends with them."""
    rows = summary(bundle)
    config = bundle.config
    found = []
    begun = [r for r in rows if r.seeds]
    if not begun:
        return ["No cell has been trained yet."]
    steps = sorted({r.step for r in begun})
    reached = f"step {steps[0]:,}" if len(steps) == 1 else f"steps {steps[0]:,} to {steps[-1]:,}"
    characters = bundle.manifest["corpus"].get("characters")
    if config is None:
        found.append(
            "Imported: what the files do not hold is unknown here. Their paths are means over "
            "tokens, without chord, straightness or null model."
        )
        if any(r.best_val is not None for r in begun):
            found.append(f"Quality is the best validation up to {reached}.")
    else:
        found.append(
            f"Quality is the best validation (dropout off, every {config.training.val_every:,} "
            f"steps) up to {reached} of a schedule of {config.training.steps:,}."
        )
    if characters and config is not None:
        seen = steps[-1] * config.training.batch * config.model.context
        passes = seen / max(characters * 9 // 10, 1)
        more = ": far from converged" if passes < 1 else ""
        found.append(f"A cell saw {seen:,} characters, {passes:.2g} passes over its text{more}.")
    late = [f"{r.variant}/{seed}" for r in begun for seed in r.not_converged]
    if late:
        every = len(late) == sum(len(r.seeds) for r in begun)
        where = "every cell" if every else ", ".join(late)
        found.append(f"Not converged: the best validation was the last one in {where}.")
    if len(rows) > 1:
        counts = {r.difference.n for r in rows if r.difference is not None}
        if counts == {1}:
            found.append("One seed: the differences have no interval.")
        elif counts:
            found.append("Differences are paired by seed, with a 95 % Student interval.")
        unfit = no_ranking(bundle, [*counts])
        if unfit:
            found.append(unfit)
    found += fairness_notes(bundle)
    if config is not None:
        found.append(
            "Null model: the same integrator over mutually orthogonal increments of the measured "
            "mean lengths."
        )
    lost = [c for c in bundle.cells if c.state == "diverged"]
    if lost:
        where = ", ".join(f"{c.name} at step {c.step:,}" for c in lost)
        found.append(f"Diverged, and left out of means and differences: {where}.")
    corpus = bundle.manifest["corpus"]
    if corpus.get("characters"):
        text = f"Corpus: {corpus.get('name', corpus.get('kind', ''))}, {corpus['characters']:,} "
        note = f" ({corpus['note']})" if corpus.get("note") else ""
        found.append(f"{text}characters{note}.")
    return found


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _whole(value: float | int | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _pair(value: float | None, null: float | None, digits: int) -> str:
    return "-" if value is None else f"{_number(value, digits)} ({_number(null, digits)})"


def _interval(difference: Interval | None) -> str:
    if difference is None or not math.isfinite(difference.mean):
        return "-"
    if difference.low is None or difference.high is None:
        return f"{difference.mean:+.4f}"
    return f"{difference.mean:+.4f} [{difference.low:+.4f}, {difference.high:+.4f}]"
