"""The tables that prove the page, with keys to sort them by."""

import dataclasses as dc
import math
from collections.abc import Sequence

from velocity_ledger.experiment import Bundle, Row, summary
from velocity_ledger.report.page._numbers import UNKNOWN, bounds, number, signed, whole
from velocity_ledger.report.page._paths import Measured
from velocity_ledger.telemetry import Interval


@dc.dataclass(frozen=True)
class Entry:
    """What a cell of a table shows, and the number or text that it sorts by."""

    text: str
    key: float | int | str | None = None
    variant: int | None = None
    """Place of the variant whose colour stands before the text."""
    remark: str = ""
    """What stands after it in smaller type."""


@dc.dataclass(frozen=True)
class Column:
    """A head: its words, a unit or remark in smaller type, whether numbers stand below."""

    title: str
    remark: str = ""
    numeric: bool = True


@dc.dataclass(frozen=True)
class Table:
    """A table; the first column names the row."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Entry]]


def tables(bundle: Bundle, measured: Sequence[Measured]) -> list[Table]:
    """Quality, paths with null models and intervals, then every cell; none without rows."""
    rows = summary(bundle)
    index = {row.variant: k for k, row in enumerate(rows)}
    made = [_quality(rows, index), _paths(measured, rows), _cells(bundle, index)]
    return [table for table in made if table.rows]


def _name(text: str, index: dict[str, int]) -> Entry:
    return Entry(text, text, index.get(text))


def _number(value: float | None, digits: int, sign: bool = False) -> Entry:
    known = value is not None and math.isfinite(value)
    text = (signed if sign else number)(value, digits)
    return Entry(text, float(value) if known and value is not None else None)


def _quality(rows: Sequence[Row], index: dict[str, int]) -> Table:
    first = rows[0].variant if rows else ""
    several = len({r.peak_rate for r in rows}) > 1
    matched = any(r.match is not None for r in rows)
    entries = []
    for r in rows:
        late = f"{len(r.not_converged)} of {len(r.seeds)}" if r.seeds else UNKNOWN
        entries.append(
            [
                _name(r.variant, index),
                Entry(r.state or UNKNOWN, r.state),
                _number(None if r.parameters is None else float(r.parameters), 0),
                *[Entry(UNKNOWN if r.peak_rate is None else f"{r.peak_rate:g}", r.peak_rate)]
                * several,
                _number(r.best_val, 4),
                _number(r.bits_per_character, 4),
                _interval(r.difference, 4, sign=True),
                _number(None if r.difference is None else r.difference.p, 3),
                *[_interval(r.match_difference, 4, sign=True)] * matched,
                _number(r.best_step, 0),
                Entry(late, len(r.not_converged) / len(r.seeds) if r.seeds else None),
            ]
        )
    columns = [
        Column("Variant", numeric=False),
        Column("Cells", numeric=False),
        Column("Parameters"),
        *[Column("Learning rate", "peak")] * several,
        Column("Best validation", "nats per character"),
        Column("Best validation", "bits per character"),
        Column(f"Minus {first}", "nats per character, paired, 95 % interval"),
        Column("p", "of no difference"),
        *[Column(f"Minus {first} of its size", "nats per character, paired, 95 % interval")]
        * matched,
        Column("Best step", "mean over seeds"),
        Column("Not converged", "best is last"),
    ]
    caption = "Quality: best validation loss, dropout off, means over seeds"
    return Table("quality", caption, columns, entries)


def _interval(interval: Interval | None, digits: int, sign: bool = False) -> Entry:
    """The mean, and below it its interval or why there is none."""
    if interval is None:
        return Entry(UNKNOWN)
    mean = _number(interval.mean, digits, sign)
    return dc.replace(mean, remark=bounds(interval, digits, sign) or _none(interval))


def _none(interval: Interval) -> str:
    return "one seed" if interval.n == 1 else "no interval"


def _paths(measured: Sequence[Measured], rows: Sequence[Row]) -> Table:
    first = rows[0].variant if rows else ""
    entries = []
    for m in measured:
        digits = m.quantity.digits + 1
        step = m.variant.checkpoint
        entries.append(
            [
                Entry(m.variant.text, m.variant.text, m.variant.index),
                Entry(m.quantity.title.capitalize(), m.quantity.title, remark=m.quantity.unit),
                _number(None if step is None else float(step), 0),
                Entry(str(m.mean.n), m.mean.n),
                _interval(m.mean, digits),
                _number(m.null, digits),
                _interval(m.from_null, digits, sign=True),
                _number(m.ratio, 2),
                _interval(m.from_reference, digits, sign=True),
            ]
        )
    columns = [
        Column("Variant", numeric=False),
        Column("Quantity", "unit", numeric=False),
        Column("At step"),
        Column("Seeds"),
        Column("Measured", "mean, 95 % interval"),
        Column("Null model", "orthogonal increments"),
        Column("Minus null", "paired, 95 % interval"),
        Column("Over null", "ratio of means"),
        Column(f"Minus {first}", "paired, 95 % interval"),
    ]
    caption = "Paths: each quantity beside its null model and the first variant"
    return Table("paths", caption, columns, entries)


def _cells(bundle: Bundle, index: dict[str, int]) -> Table:
    entries = [
        [
            _name(c.variant, index),
            Entry(str(c.seed), c.seed),
            Entry(c.state, c.state),
            _number(float(c.step), 0),
            _number(c.best_val, 4),
            _number(None if c.best_val is None else c.best_val / math.log(2), 4),
            _number(None if c.best_step is None else float(c.best_step), 0),
            _number(c.compile_s, 1),
            _number(c.train_s, 1),
            Entry(whole(c.tokens_per_second), c.tokens_per_second),
            Entry(c.message or c.reason or UNKNOWN, c.message or c.reason or ""),
        ]
        for c in bundle.cells
    ]
    columns = [
        Column("Variant", numeric=False),
        Column("Seed"),
        Column("State", numeric=False),
        Column("Steps done"),
        Column("Best validation", "nats per character"),
        Column("Best validation", "bits per character"),
        Column("Best step"),
        Column("Compiling", "seconds"),
        Column("Training", "seconds"),
        Column("Speed", "tokens per second"),
        Column("Ended by", numeric=False),
    ]
    caption = "Cells: one variant at one seed"
    return Table("cells", caption, columns, entries)
