"""How a figure is laid out, in inches from its upper left corner."""

import dataclasses as dc
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsFloat

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from velocity_ledger.report._data import Facts, Variant, left_out
from velocity_ledger.report._labels import text_width, wrap
from velocity_ledger.report._style import NOTE, figure, short
from velocity_ledger.telemetry import mean_interval

MARGIN = 0.2
LONG = 72  # Characters of a name that has lines to itself.
NAME, SMALL = 10.0, 8.5  # Points: a panel's name, its notes.
_TITLE, _KEY = 12.0, 9.0
_LINE = 1.45 / 72  # Inches between lines, for each point of their size.


@dc.dataclass(frozen=True)
class Head:
    """Title, notes and key above the panels of a figure of this width."""

    width: float
    title: str
    notes: Sequence[str] = ()
    key: Sequence[Artist] = ()

    @property
    def height(self) -> float:
        """Inches down to where the panels begin."""
        titles, notes, rows = self._lines()
        lines = len(titles) * _TITLE + len(notes) * _KEY + 1.25 * len(rows) * _KEY
        return MARGIN + lines * _LINE + 0.05

    def _lines(self) -> tuple[list[str], list[str], list[list[Artist]]]:
        room = self.width - 2 * MARGIN
        # Bold is wider by about a seventh.
        titles = wrap(self.title, room / 1.17, _TITLE)
        notes = [line for note in self.notes if note for line in wrap(note, room, _KEY)]
        rows: list[list[Artist]] = [[]]
        used = 0.0
        for artist in self.key:
            wide = 0.55 + text_width(str(artist.get_label()), _KEY)
            if rows[-1] and used + wide > room:
                rows.append([])
                used = 0.0
            rows[-1].append(artist)
            used += wide
        return titles, notes, [row for row in rows if row]

    def draw(self, made: Figure) -> None:
        """Write it on `made`."""
        width, height = (float(side) for side in made.get_size_inches())
        titles, notes, rows = self._lines()
        top = MARGIN
        parts: tuple[tuple[list[str], float, dict[str, Any]], ...] = (
            (titles, _TITLE, {"weight": "bold"}),
            (notes, _KEY, {"color": NOTE}),
        )
        for lines, size, style in parts:
            for line in lines:
                y = 1 - top / height
                made.text(MARGIN / width, y, line, fontsize=size, va="top", **style)
                top += size * _LINE
        for row in rows:
            made.legend(
                handles=row,
                loc="upper left",
                bbox_to_anchor=((MARGIN - 0.02) / width, 1 - top / height),
                borderaxespad=0.0,
                borderpad=0.2,
                ncols=len(row),
                handlelength=1.8,
                handletextpad=0.5,
                columnspacing=1.5,
                labelcolor=NOTE,
                fontsize=_KEY,
            )
            top += 1.25 * _KEY * _LINE


def sheet(head: Head, body: float) -> Figure:
    """A figure with `head` above `body` inches of panels."""
    made = figure(head.width, head.height + body)
    head.draw(made)
    return made


def box(made: Figure, left: float, top: float, width: float, height: float, **options: Any) -> Axes:
    """Axes of this place and size."""
    w, h = (float(side) for side in made.get_size_inches())
    axes = made.add_axes((left / w, 1 - (top + height) / h, width / w, height / h), **options)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_Ticks())
    return axes


def whole_steps(axes: Axes, most: int = 13) -> None:
    """Ticks of a horizontal axis at whole numbers alone."""
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=most, steps=[1, 2, 2.5, 5, 10]))


@dc.dataclass(frozen=True)
class Panel:
    """What stands above one of several like panels."""

    name: str
    ink: str
    notes: Sequence[str] = ()


@dc.dataclass(frozen=True)
class Grid:
    """Like panels in rows; `shared`, those of a row have one vertical axis."""

    panels: Sequence[Panel]
    width: float
    panel_height: float = 1.7
    shared: bool = True

    @property
    def columns(self) -> int:
        """Panels in a row."""
        return {1: 1, 2: 2, 3: 3, 4: 2}.get(len(self.panels), 3)

    @property
    def _left(self) -> float:
        return 0.85

    @property
    def _gap(self) -> float:
        return 0.3 if self.shared else 0.65

    @property
    def panel_width(self) -> float:
        """Inches of one panel's axes."""
        return (self.width - self._left - 0.25 + self._gap) / self.columns - self._gap

    @property
    def _heads(self) -> list[tuple[list[str], list[str]]]:
        room = self.panel_width
        return [
            (
                wrap(panel.name, room / 1.17, NAME),
                [line for note in panel.notes for line in wrap(note, room, SMALL)],
            )
            for panel in self.panels
        ]

    def _tops(self) -> list[float]:
        """Where each row's axes begin, and where the last ends, from the grid's top."""
        heads, columns = self._heads, self.columns
        tops, at = [], 0.0
        for first in range(0, len(self.panels), columns):
            row = heads[first : first + columns]
            above = max(NAME * len(names) + SMALL * len(notes) for names, notes in row)
            at += above * _LINE + 0.12
            tops.append(at)
            at += self.panel_height + 0.42
        return [*tops, at - 0.42]

    @property
    def height(self) -> float:
        """Inches of the whole grid, the label of the horizontal axis included."""
        return self._tops()[-1] + 0.65

    def draw(self, made: Figure, top: float, xlabel: str, ylabel: str) -> list[Axes]:
        """Make the axes, `top` inches below the upper edge, with all their texts."""
        drawn: list[Axes] = []
        tops, count = self._tops(), len(self.panels)
        for k, (panel, (names, notes)) in enumerate(zip(self.panels, self._heads, strict=True)):
            row, column = divmod(k, self.columns)
            options = {"sharey": drawn[0]} if self.shared and drawn else {}
            left = self._left + column * (self.panel_width + self._gap)
            axes = box(made, left, top + tops[row], self.panel_width, self.panel_height, **options)
            if column == 0:
                axes.set_ylabel(ylabel, fontsize=9)
            elif self.shared:
                axes.tick_params(labelleft=False)
            if k + self.columns >= count:
                axes.set_xlabel(xlabel, fontsize=9)
            _above(axes, names, panel.ink, notes)
            axes.tick_params(labelsize=9)
            drawn.append(axes)
        return drawn


def _above(axes: Axes, names: Sequence[str], ink: str, notes: Sequence[str]) -> None:
    lines = [(name, NAME, ink, "bold") for name in names]
    lines += [(note, SMALL, NOTE, "normal") for note in notes]
    offset = 6.0
    for text, size, colour, weight in reversed(lines):
        axes.annotate(
            text, (0.0, 1.0), (0.0, offset), xycoords="axes fraction",
            textcoords="offset points", fontsize=size, color=colour, weight=weight,
            va="bottom", ha="left", annotation_clip=False,
        )  # fmt: skip
        offset += 1.45 * size


def seeds_of(variants: Iterable[Variant], checkpoints: bool = True) -> str:
    """How many seeds the variants have, in words."""
    counts = {
        len(v.at(v.checkpoint)) if checkpoints and v.checkpoint is not None else len(v.cells)
        for v in variants
    }
    low, high = min(counts), max(counts)
    number = str(high) if low == high else f"{low} to {high}"
    return f"{number} seed{'s' * (high > 1)}"


def at_steps(variants: Sequence[Variant]) -> str:
    """At which training step the variants were measured, in words."""
    steps = {v.checkpoint for v in variants if v.checkpoint is not None}
    if len(steps) == 1:
        return f"at step {steps.pop():,}"
    return "at each variant's last checkpoint"


def about(facts: Facts, variants: Sequence[Variant]) -> list[str]:
    """Notes on the text that was learnt, and on what of the run is not drawn."""
    found = []
    if facts.corpus is not None:
        found.append(f"Corpus: {short(facts.corpus, 80)}.")
    if missing := left_out(variants):
        found.append(f"Drawn {missing}.")
    if facts.unmeasured:
        names = ", ".join(short(text) for text in facts.unmeasured)
        found.append(f"Not measured yet: {names}.")
    return [" ".join(found)] if found else []


def mean_of(variant: Variant, name: str, checkpoint: int) -> str | None:
    """Mean of a scalar over seeds with half its 95 % interval, where it has one, in digits."""
    values = variant.scalar(name, checkpoint)
    if not values:
        return None
    found = mean_interval(values)
    if found.high is None:
        return number(found.mean)
    return f"{number(found.mean)} ± {number(found.high - found.mean, found.mean)}"


def kinds(sizes: Mapping[Variant, int], alternating: int | None) -> list[Artist]:
    """The key of `mark_kinds`, for variants of so many sub-updates."""
    if alternating not in sizes.values():
        return []
    return [
        Line2D([], [], color=NOTE, marker="o", ls="", ms=5, label="attention"),
        Line2D([], [], color=NOTE, marker="s", mfc="white", ls="", ms=5, label="MLP"),
    ]


def mark_kinds(
    axes: Axes, depth: np.ndarray, values: np.ndarray, colour: str, alternating: int | None
) -> None:
    """Mark attention and MLP where there are `alternating` sub-updates, else dots."""
    if values.size != alternating:
        axes.plot(depth, values, ".", color=colour)
        return
    for first, face in ((0, colour), (1, "white")):
        axes.plot(depth[first::2], values[first::2], "os"[first], color=colour, mfc=face, ms=4.5)


def sub_updates(axes: Axes, count: int, left: float, right: float) -> None:
    """The horizontal axis of `count` sub-updates, from `left` to `right`."""
    axes.set_xlim(left, right)
    every = -(-count // 12)
    axes.set_xticks(range(every, count + 1, every))


def number(value: float, like: float | None = None) -> str:
    """Three digits or so, in few characters; as many decimals as `like` would have."""
    size = abs(value if like is None else like)
    if size >= 1e6:
        text = _short_power(value)
    else:
        decimals = 0 if size >= 100 else 1 if size >= 10 or size == 0 else 2
        text = f"{value:,.{decimals}f}"
    return text.replace("-", "−")


def _short_power(value: float) -> str:
    digits, _, power = f"{value:.2e}".partition("e")
    return f"{digits}e{int(power)}"


class _Ticks(ScalarFormatter):
    """Plain numbers with commas; powers of ten stand in the number, not above the axis."""

    def __init__(self) -> None:
        super().__init__()
        self.set_scientific(False)
        self._largest = 0.0

    def set_locs(self, locs: Any) -> None:
        super().set_locs(locs)
        self._largest = max((abs(float(place)) for place in locs), default=0.0)

    def __call__(self, x: SupportsFloat, pos: int | None = None) -> str:
        x = float(x)
        if self._largest >= 1e6:
            return _short_power(x).replace("-", "−") if x else "0"
        text = super().__call__(x, pos)
        whole, point, decimals = text.partition(".")
        digits = whole.lstrip("−")
        commas = f"{int(digits):,}" if digits.isdigit() else digits
        return whole[: len(whole) - len(digits)] + commas + point + decimals
