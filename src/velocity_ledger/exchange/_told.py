"""A comparison of two runs in words and columns."""

from collections.abc import Sequence
from typing import Any

from velocity_ledger._table import aligned
from velocity_ledger.exchange._compare import METRICS, Comparison, Field, Metric, VariantPair
from velocity_ledger.exchange._numbers import TOLERANCE, Agreement
from velocity_ledger.telemetry import Interval

_WIDE = 44
_MANY = 8


def told(found: Comparison) -> str:
    """Return a comparison as plain text: the verdict, then what differs, part by part."""
    parts = [[f"A: {found.a}", f"B: {found.b}"], _verdict(found)]
    parts.append(_fields("Configuration", found.configuration))
    parts.append(_corpus(found))
    parts.append(_fields("Environment", found.environment))
    parts.append(_cells(found))
    parts += [_variant(pair) for pair in found.variants]
    parts.append(_curves(found))
    parts.append(list(found.notes))
    return "\n\n".join("\n".join(part) for part in parts if part)


def _verdict(found: Comparison) -> list[str]:
    numbers = found.numbers
    count = numbers.identical + numbers.within_tolerance
    lines = {
        "identical": f"The numbers that both hold are identical, bit for bit ({count:,} "
        "quantities of cells).",
        "within tolerance": f"The numbers that both hold are the same within the tolerance of "
        f"{TOLERANCE:g}: {numbers.identical:,} quantities of cells bit for bit, "
        f"{numbers.within_tolerance:,} nearly.",
        "different": f"The runs differ, in {_some(numbers.different)}.",
        "nothing in common": "The runs have no number in common to compare.",
    }
    said = [lines[numbers.verdict]]
    said += _largest(numbers)
    for side, names in (("A", numbers.only_a), ("B", numbers.only_b)):
        if names:
            said.append(f"Held by {side} alone: {_some(names, len(names))}.")
    if numbers.other_steps:
        said.append(
            f"One side has more along {_some(numbers.other_steps)}: what both have is compared."
        )
    if numbers.as_means:
        said.append(
            f"Compared as means over tokens, which is all one side has: {_some(numbers.as_means)}."
        )
    return said


def _largest(numbers: Agreement) -> list[str]:
    if numbers.largest_of is None:
        return []
    if numbers.largest is None:
        return [f"In {numbers.largest_of} the shapes, or what is undefined, differ."]
    return [
        f"Largest difference: {numbers.largest:.2g} of the quantity's size, in "
        f"{numbers.largest_of}."
    ]


def _fields(title: str, fields: Sequence[Field]) -> list[str]:
    if not fields:
        return [f"{title}: no difference."]
    differ = [f for f in fields if f.known == "both"]
    lines = [f"{title}:"]
    if differ:
        rows = [(f.name, _value(f.a), _value(f.b)) for f in differ]
        lines += _columns([("", "A", "B"), *rows])
    for side in ("A", "B"):
        names = [f.name for f in fields if f.known == side]
        if names:
            lines.append(f"  known in {side} alone: {', '.join(names)}")
    return lines


def _corpus(found: Comparison) -> list[str]:
    words = {True: "the same text", False: "another text", None: "not known whether the same text"}
    lines = _fields("Corpus", found.corpus)
    lines[0] = f"Corpus: {words[found.same_corpus]}{'.' if len(lines) == 1 else ':'}"
    return lines


def _cells(found: Comparison) -> list[str]:
    lines = []
    for side, names in (("A", found.only_a), ("B", found.only_b)):
        if names:
            lines.append(f"Cells in {side} alone: {', '.join(names)}")
    return lines


def _variant(pair: VariantPair) -> list[str]:
    name = pair.a if pair.a == pair.b else f"{pair.a} (B: {pair.b})"
    at = _whole(pair.checkpoint_a)
    if pair.checkpoint_a != pair.checkpoint_b:
        at = f"{at} (A) and {_whole(pair.checkpoint_b)} (B)"
    seeds = " ".join(map(str, pair.seeds_a)) or "none"
    if pair.seeds_a != pair.seeds_b:
        seeds += f" (A), {' '.join(map(str, pair.seeds_b)) or 'none'} (B)"
    rows = [
        (METRICS[m.name], _number(m.a), _number(m.b), _signed(m.difference), _paired(m))
        for m in pair.metrics
    ]
    header = ("", "A", "B", "B - A", "paired [95 %]")
    return [f"{name}: seeds {seeds}; paths at step {at}", *_columns([header, *rows])]


def _paired(metric: Metric) -> str:
    if metric.paired is None:
        return f"not paired: {metric.unpaired}"
    return _interval(metric.paired)


def _interval(found: Interval) -> str:
    seeds = f"{found.n} seed{'s' * (found.n > 1)}"
    if found.low is None or found.high is None:
        return f"{found.mean:+.4g}, {seeds}, no interval"
    p = "" if found.p is None else f", p {found.p:.2g}"
    return f"{found.mean:+.4g} [{found.low:+.4g}, {found.high:+.4g}], {seeds}{p}"


def _curves(found: Comparison) -> list[str]:
    lines = []
    names = {"val_loss": "validation", "train_loss": "training"}
    for curve, words in names.items():
        pairs = [c for c in found.curves if c.curve == curve and c.common]
        if not pairs:
            continue
        parted = [c for c in pairs if c.first_unequal is not None]
        if not parted:
            lines.append(f"The {words} curves of {len(pairs)} cells are equal at all common steps.")
            continue
        rows = [
            (c.cell, _whole(c.first_unequal), _whole(c.first_apart), f"{c.common:,}")
            for c in parted
        ]
        lines.append(f"First step at which {words} curves differ:")
        header = ("", "at all", "beyond tolerance", "common steps")
        lines += _columns([header, *rows])
    return lines


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    table = aligned(rows, last_left=True, rule=False)
    return [f"  {line}" for line in table.splitlines()]


def _some(names: Sequence[str], most: int = _MANY) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _value(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.4g}"


def _whole(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
