"""Length, turning and straightness of every variant's path, beside their null models."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from velocity_ledger.report._data import Variant, left_out
from velocity_ledger.report._labels import width_of
from velocity_ledger.report._style import NOTE, figure, look, short

# name, title, label of the axis, digits after the point
_PANELS = (
    ("path_length", "Path length", "units of the residual stream", 1),
    ("path_over_norm", "Path over norm", "path length / final norm", 2),
    ("turning_angle", "Turning angle", "degrees between steps, mean", 1),
    ("straightness", "Straightness", "chord / path length", 2),
)


def paths_figure(variants: Sequence[Variant]) -> Figure | None:
    """One row a variant, at its last checkpoint; None where no path was measured."""
    rows = []
    for variant in variants:
        if variant.checkpoint is not None:
            rows.append((variant, variant.checkpoint))
    if not rows:
        return None
    one = len({checkpoint for _, checkpoint in rows}) == 1
    names = [short(v.text) + ("" if one else f"\nstep {c:,}") for v, c in rows]
    left = width_of([part for name in names for part in name.split("\n")])
    # Inches: a panel, and what lies between two rows of them.
    panel, between = 0.1 + 0.55 * len(rows), 1.05
    width, height = left + 2 * 3.9, 1.65 + 2 * panel + between
    made = figure(width, height)
    panels = made.subplots(
        2,
        2,
        sharey=True,
        gridspec_kw={
            "left": left / width,
            "right": 1 - 0.3 / width,
            "top": 1 - 1.05 / height,
            "bottom": 0.6 / height,
            "wspace": 0.12,
            "hspace": between / panel,
        },
    ).ravel()
    for axes, (name, title, unit, digits) in zip(panels, _PANELS, strict=True):
        axes.set_title(title)
        axes.set_xlabel(unit)
        axes.grid(False, axis="y")
        for place, (variant, checkpoint) in enumerate(rows):
            _draw_row(axes, place, variant, checkpoint, name, digits)
        axes.set_xlim(0.0, _limit(axes, name))
        if name == "straightness":
            axes.set_xticks((0.0, 0.5, 1.0), ("0", "0.5", "1"))
    panels[0].set_yticks(range(len(rows)), names)
    panels[0].set_ylim(len(rows) - 0.4, -0.6)
    for axes in panels:
        axes.tick_params(axis="y", length=0)
    where = f"at step {rows[0][1]:,}" if one else "at each variant's last checkpoint"
    title = f"Depth path {where}{left_out(variants)}"
    made.text(0.15 / width, 1 - 0.3 / height, title, fontsize=11, weight="bold")
    several = any(len(variant.at(checkpoint)) > 1 for variant, checkpoint in rows)
    null = "null model: orthogonal increments of the same lengths"
    measured = "measured, mean over seeds" if several else "measured"
    handles = [Line2D([], [], marker="o", ls="", color=NOTE, ms=8, label=measured)]
    if several:
        handles.append(Line2D([], [], marker="|", ls="", color=NOTE, ms=9, mew=1.2, label="a seed"))
    handles.append(Line2D([], [], marker="D", ls="", mfc="white", mec=NOTE, ms=6, label=null))
    made.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(0.05 / width, 1 - 0.32 / height),
        ncols=3,
        handletextpad=0.3,
        columnspacing=1.4,
        labelcolor=NOTE,
    )
    return made


def _draw_row(
    axes: Axes, place: int, variant: Variant, checkpoint: int, name: str, digits: int
) -> None:
    colour = look(variant.index).colour
    summaries = variant.summaries(checkpoint)
    seeds = [row[name] for row in summaries if math.isfinite(row.get(name, math.nan))]
    nulls = [row[k] for row in summaries if math.isfinite(row.get(k := f"null_{name}", math.nan))]
    if seeds:
        mean = float(np.mean(seeds))
        axes.plot([0.0, mean], [place, place], color=colour, linewidth=1.2, alpha=0.5)
        if len(seeds) > 1:
            axes.plot(seeds, [place] * len(seeds), "|", color=colour, ms=13, mew=1.0)
        axes.plot([mean], [place], "o", color=colour, ms=8)
        axes.annotate(
            _number(mean, digits), (mean, place), (0, 8), textcoords="offset points",
            color=colour, fontsize=9, ha="center", va="bottom",
        )  # fmt: skip
    if nulls:
        null = float(np.mean(nulls))
        axes.plot([null], [place], "D", mfc="white", mec=colour, ms=6)
        axes.annotate(
            _number(null, digits), (null, place), (0, -8), textcoords="offset points",
            color=NOTE, fontsize=8, ha="center", va="top",
        )  # fmt: skip


def _number(value: float, digits: int) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.{digits}f}"


def _limit(axes: Axes, name: str) -> float:
    """The right end of the axis: past all points, and one for the ratio that is at most one."""
    if name == "straightness":
        return 1.05
    xs = [float(x) for line in axes.get_lines() for x in np.atleast_1d(line.get_xdata())]
    return 1.12 * max(xs, default=1.0) or 1.0
