"""How long every variant's path is, beside its null model, and how it grows through depth."""

import dataclasses as dc
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from velocity_ledger.report._data import Facts, Variant
from velocity_ledger.report._labels import Label, distinct, label_ends, text_width, width_of, wrap
from velocity_ledger.report._style import FAINT, NOTE, look, tint
from velocity_ledger.report.figures._page import (
    LONG,
    SMALL,
    Head,
    about,
    at_steps,
    box,
    kinds,
    mark_kinds,
    mean_of,
    number,
    seeds_of,
    sheet,
    sub_updates,
)
from velocity_ledger.telemetry import mean_interval

# name, title, label of the axis
_PANELS = (
    ("path_length", "Path length", "units of the residual stream"),
    ("path_over_norm", "Path over norm", "path length / final norm, a ratio"),
    ("straightness", "Straightness", "chord / path length, a ratio"),
)
_PANEL, _GAP = 2.75, 0.35  # Inches.
_ROW = 0.52
_LABELS = 2.3  # Inches of names, at most.
_GROWTH = 2.3


def paths_figure(variants: Sequence[Variant], facts: Facts) -> Figure | None:
    """Two bars a variant, measured and null model, at its last checkpoint.

    Below them the path length so far through depth. None where no path was measured; a quantity
    that nobody has is left out, and the figure says so.
    """
    drawn = {v: v.checkpoint for v in variants if v.checkpoint is not None}
    panels = [p for p in _PANELS if any(v.scalar(p[0], c) for v, c in drawn.items())]
    growth = {
        v: np.cumsum(p)
        for v, c in drawn.items()
        if (p := v.profile("step_length", c)) is not None and np.isfinite(p).all()
    }
    if not panels and not growth:
        return None
    one = len(set(drawn.values())) == 1
    names = _names(drawn, one)
    left = 0.3 + max(text_width(line) for lines in names for line in lines)
    labels = dict(zip(drawn, distinct([v.text for v in drawn]), strict=True))
    right = width_of(list(labels.values()))
    width = max(left + len(panels) * (_PANEL + _GAP), 0.9 + 4.5 + right, 7.6)
    head = _head(width, drawn, facts, panels)

    bars = 0.45 + _ROW * len(drawn) + 0.65 if panels else 0.0
    below = 0.4 + _GROWTH + 0.6 if growth else 0.0
    made = sheet(head, bars + below)
    first = None
    wide = (width - left + _GAP - 0.35) / max(len(panels), 1) - _GAP
    for k, (name, title, unit) in enumerate(panels):
        place = (left + k * (wide + _GAP), head.height + 0.4, wide, _ROW * len(drawn))
        axes = box(made, *place)
        axes.set_title(title)
        axes.set_xlabel(unit)
        axes.grid(False, axis="y")
        axes.set_ylim(len(drawn) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_yticks(range(len(drawn)), ["\n".join(lines) for lines in names])
        if first is not None:
            axes.tick_params(labelleft=False)
        first = axes
        _draw_bars(axes, drawn, name, wide)
    if growth:
        top = head.height + bars + 0.35
        axes = box(made, 0.9, top, width - 0.9 - right, _GROWTH)
        _draw_growth(axes, growth, labels, facts.alternating)
    return made


def _names(drawn: Mapping[Variant, int], one: bool) -> list[list[str]]:
    names = distinct([v.text for v in drawn], LONG)
    return [
        [*wrap(name, _LABELS), *([] if one else [f"step {checkpoint:,}"])]
        for name, checkpoint in zip(names, drawn.values(), strict=True)
    ]


def _head(
    width: float,
    drawn: Mapping[Variant, int],
    facts: Facts,
    panels: Sequence[tuple[str, str, str]],
) -> Head:
    variants = list(drawn)
    notes = about(facts, variants)
    nulls = any(v.scalar(f"null_{name}", c) for v, c in drawn.items() for name, _, _ in panels)
    absent = [title.lower() for name, title, unit in _PANELS if (name, title, unit) not in panels]
    absent += [] if nulls else ["null models"]
    if absent:
        notes.append(f"Not recorded in this run: {', '.join(absent)}.")
    counts = {len(v.at(c)) for v, c in drawn.items()}
    if counts == {1}:
        notes.append("One seed: no interval.")
    several = counts != {1}
    measured = "measured, mean over tokens and seeds" if several else "measured, mean over tokens"
    key: list[Artist] = [Patch(fc=tint(NOTE), lw=0, label=measured)]
    if several:
        key.append(Line2D([], [], marker="|", ls="", color="black", ms=10, mew=1, label="a seed"))
        interval = "95 % Student interval over seeds"
        key.append(Line2D([], [], color="black", lw=1.8, label=interval))
    if nulls:
        null = "null model: the same update over orthogonal increments"
        key.append(Patch(fc="white", ec=NOTE, lw=1.0, label=null))
    key += kinds({v: _size(v) for v in variants}, facts.alternating)
    if any(_start(v) is not None for v in variants):
        key.append(Line2D([], [], color=NOTE, alpha=FAINT, lw=1.2, label="before training"))
    title = f"Path through depth {at_steps(variants)}, {seeds_of(variants)}"
    return Head(width, title, (" ".join(notes),), key)


def _size(variant: Variant) -> int:
    return max((int(d.sizes.get("sub_update", 0)) for d in variant.cells.values()), default=0)


def _start(variant: Variant) -> np.ndarray | None:
    return variant.profile("step_length", 0) if variant.checkpoint not in (0, None) else None


@dc.dataclass(frozen=True)
class _Bar:
    """The text at the end of a bar."""

    place: float
    end: float
    """As far as the bar's seeds and interval go."""
    text: str
    ink: str
    counts: bool
    """Whether it sets the scale."""


def _draw_bars(axes: Axes, drawn: Mapping[Variant, int], name: str, wide: float) -> None:
    ends: list[_Bar] = []
    kept = any(not v.diverged for v in drawn)
    for row, (variant, checkpoint) in enumerate(drawn.items()):
        colour = look(variant.index).colour
        # What diverged may be longer than all others together.
        counts = not (variant.diverged and kept)
        seeds = variant.scalar(name, checkpoint)
        nulls = variant.scalar(f"null_{name}", checkpoint)
        if seeds:
            place = row - 0.15 if nulls else float(row)
            found = mean_interval(seeds)
            axes.barh([place], [found.mean], 0.3, color=tint(colour), linewidth=0)
            end = max(found.mean, *seeds)
            if len(seeds) > 1:
                axes.plot(seeds, [place] * len(seeds), "|", color="black", ms=10, mew=1.0)
            if found.low is not None and found.high is not None:
                axes.plot([found.low, found.high], [place] * 2, color="black", linewidth=1.8)
                # With two seeds it may be many times the mean: then it leaves the frame.
                end = max(end, min(found.high, 1.5 * end))
            text = mean_of(variant, name, checkpoint) or ""
            ends.append(_Bar(place, end, text, "black", counts))
        if nulls:
            place, null = row + 0.17, float(np.mean(nulls))
            axes.barh(
                [place], [null], 0.2, facecolor="white", edgecolor=colour, linewidth=1.0
            )  # fmt: skip
            ends.append(_Bar(place, null, number(null), NOTE, counts))
    limit = _limit(ends, wide, 1.0 if name == "straightness" else 0.0)
    axes.set_xlim(0.0, limit)
    if name == "straightness":
        axes.set_xticks((0.0, 0.5, 1.0), ("0", "0.5", "1"))
    for bar in ends:
        outside = bar.end > limit
        axes.annotate(
            f"{bar.text} →" if outside else bar.text,
            (min(bar.end, limit), bar.place),
            (-4 if outside else 4, 0),
            textcoords="offset points",
            fontsize=SMALL,
            color=bar.ink,
            ha="right" if outside else "left",
            va="center",
            bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.5},
        )


def _limit(bars: Sequence[_Bar], wide: float, least: float) -> float:
    """The right end of the axis, so that every text has its room beside its bar."""
    needed = [least]
    for bar in bars:
        if bar.counts:
            room = wide - text_width(bar.text, SMALL) - 0.12
            needed.append(bar.end * wide / max(room, 0.3 * wide))
    return max(needed) or 1.0


def _draw_growth(
    axes: Axes,
    growth: Mapping[Variant, np.ndarray],
    labels: Mapping[Variant, str],
    alternating: int | None,
) -> None:
    ends = []
    for variant, values in growth.items():
        style = look(variant.index)
        start = _start(variant)
        if start is not None:
            axes.plot(
                np.arange(start.size + 1), [0.0, *np.cumsum(start)], color=style.colour,
                alpha=FAINT, linewidth=1.0, linestyle=style.dashes,
            )  # fmt: skip
        depth = np.arange(1, values.size + 1)
        axes.plot([0, *depth], [0.0, *values], color=style.colour, linestyle=style.dashes)
        mark_kinds(axes, depth, values, style.colour, alternating)
        ends.append(Label(float(depth[-1]), float(values[-1]), labels[variant], style.ink))
    longest = max(values.size for values in growth.values())
    sub_updates(axes, longest, -0.2, longest + 0.3)
    kept = [float(p[-1]) for v, p in growth.items() if not v.diverged]
    axes.set_ylim(0.0, 1.06 * max(kept or [float(p[-1]) for p in growth.values()]) or 1.0)
    axes.set_title("Path length so far")
    axes.set_ylabel("units of the\nresidual stream")
    axes.set_xlabel("sub-update, from the embedding (0) to the last layer")
    label_ends(axes, ends)
