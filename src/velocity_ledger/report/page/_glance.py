"""One line a variant: each number as a mark beside its null model's, drawn without a script."""

import dataclasses as dc
from collections.abc import Sequence

from velocity_ledger.experiment import Row
from velocity_ledger.report.page._numbers import UNKNOWN, bounds, number, signed
from velocity_ledger.report.page._paths import QUANTITIES, Measured

WIDTH, HEIGHT = 168, 22
_LEFT, _RIGHT = 8.0, 160.0


@dc.dataclass(frozen=True)
class Mark:
    """A number, words about it, and places of a small drawing in pixels; None is not drawn."""

    about: str
    value: str
    words: str
    dot: float | None = None
    null: float | None = None
    zero: float = _LEFT
    low: float | None = None
    high: float | None = None


@dc.dataclass(frozen=True)
class Line:
    """A variant and its marks."""

    index: int
    text: str
    marks: list[Mark]


@dc.dataclass(frozen=True)
class Glance:
    """The lines and the heads of their columns, a title with a unit each."""

    heads: list[tuple[str, str]]
    lines: list[Line]


def glance(rows: Sequence[Row], measured: Sequence[Measured]) -> Glance:
    """Difference in quality, then every quantity of the path that is known of any variant."""
    known = [q for q in QUANTITIES if any(m.quantity is q for m in measured)]
    heads = [(q.title.capitalize(), q.unit) for q in known]
    several = len(rows) > 1
    if several:
        about = (f"Loss minus {_short(rows[0].variant)}", "nats per character, best validation")
    else:
        about = ("Best validation", "nats per character")
    lines = []
    for index, row in enumerate(rows):
        quality = _difference(row, rows) if several else _loss(row)
        marks = [dc.replace(quality, about=about[0])]
        marks += [_mark(q.name, row.variant, measured) for q in known]
        lines.append(Line(index, row.variant, marks))
    return Glance([about, *heads], lines)


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:23]}…"


def _loss(row: Row) -> Mark:
    bits = row.bits_per_character
    words = "" if bits is None else f"{number(bits, 4)} bits per character"
    return Mark("", number(row.best_val, 4), words)


def _difference(row: Row, rows: Sequence[Row]) -> Mark:
    if row is rows[0]:
        words = "the reference" if row.best_val is not None else "no validation yet"
        return Mark("", number(row.best_val, 4), words)
    d = row.difference
    if d is None:
        return Mark("", UNKNOWN, "no pair to compare")
    shown = [r.difference for r in rows if r.difference is not None]
    ends = [abs(v) for i in shown for v in (i.mean, i.low, i.high) if v is not None]
    most = max(ends, default=0.0)
    middle = (_LEFT + _RIGHT) / 2

    def place(value: float | None) -> float | None:
        if value is None or not most < float("inf"):
            return None
        return middle + (value / most if most else 0.0) * (_RIGHT - _LEFT) / 2

    words = bounds(d, 4) or ("one seed: no interval" if d.n == 1 else "no interval")
    return Mark(
        "", signed(d.mean, 4), words,
        dot=place(d.mean), zero=middle, low=place(d.low), high=place(d.high),
    )  # fmt: skip


def _mark(name: str, variant: str, measured: Sequence[Measured]) -> Mark:
    column = [m for m in measured if m.quantity.name == name]
    mine = next((m for m in column if m.variant.text == variant), None)
    title = next(q for q in QUANTITIES if q.name == name).title.capitalize()
    if mine is None:
        return Mark(title, UNKNOWN, "not measured")
    digits = mine.quantity.digits
    most = max(v for m in column for v in (m.mean.mean, m.null or 0.0))
    if name == "straightness":
        most = 1.0
    scale = (_RIGHT - _LEFT) / most if most > 0 else 0.0
    unit = "°" if name == "turning_angle" else ""
    if mine.null is None or mine.from_null is None:
        words = "no null model"
    else:
        words = (
            f"null {number(mine.null, digits)}{unit} ({signed(mine.from_null.mean, digits)}{unit})"
        )
    return Mark(
        title, f"{number(mine.mean.mean, digits)}{unit}", words,
        dot=_LEFT + scale * mine.mean.mean,
        null=None if mine.null is None else _LEFT + scale * mine.null,
    )  # fmt: skip
