"""Turning angle through depth, a panel a variant, with its mean beside its null model's."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from velocity_ledger.report._data import Facts, Variant, intervals
from velocity_ledger.report._labels import distinct
from velocity_ledger.report._style import NOTE, look, short
from velocity_ledger.report.figures._page import (
    LONG,
    Grid,
    Head,
    Panel,
    about,
    at_steps,
    kinds,
    mark_kinds,
    mean_of,
    number,
    seeds_of,
    sheet,
    sub_updates,
)
from velocity_ledger.telemetry import mean_interval

_WIDTH = 10.2
_NAME, _NULL = "turning_angle", "null_turning_angle"
_GROUND = "#B5B5B5"
_BAND = 0.22


def turning_figure(variants: Sequence[Variant], facts: Facts) -> Figure | None:
    """Profiles at the last checkpoint; None where no turning angle was measured.

    Each panel has its variant's mean over tokens and seeds, with a 95 % interval over seeds where
    there are several, the profile before training and the first variant's for comparison; to the
    right the mean over depth beside the null model's.
    """
    drawn = {v: p for v in variants if (p := _known(v)) is not None}
    if not drawn:
        return None
    names = distinct([v.text for v in drawn], LONG)
    one = len({v.checkpoint for v in drawn}) == 1
    panels = [
        Panel(name, look(v.index).ink, (_numbers(v, one),))
        for v, name in zip(drawn, names, strict=True)
    ]
    grid = Grid(panels, _WIDTH, panel_height=1.9)
    head = _head(drawn, facts)
    made = sheet(head, 0.1 + grid.height)
    axes = grid.draw(made, head.height + 0.1, "sub-update", "turning angle, degrees")
    top = 95.0
    for panel, variant in zip(axes, drawn, strict=True):
        top = max(top, _draw(panel, variant, drawn, facts.alternating))
    for panel in axes:
        panel.set_yticks(range(0, 181, 30))
        panel.set_ylim(0.0, min(186.0, 1.05 * top))
    return made


def _known(variant: Variant) -> np.ndarray | None:
    if variant.checkpoint is None:
        return None
    profile = variant.profile(_NAME, variant.checkpoint)
    return profile if profile is not None and np.isfinite(profile).any() else None


def _numbers(variant: Variant, one: bool) -> str:
    last = variant.checkpoint
    assert last is not None
    mean, nulls = mean_of(variant, _NAME, last), variant.scalar(_NULL, last)
    text = "mean not measured" if mean is None else f"mean {mean}°"
    text += f", null model {number(float(np.mean(nulls)))}°" if nulls else ""
    return text if one else f"step {last:,}: {text}"


def _head(drawn: Mapping[Variant, np.ndarray], facts: Facts) -> Head:
    variants = list(drawn)
    notes = about(facts, variants)
    if not any(_has_null(v) for v in variants):
        notes.append("Null models were not recorded.")
    meaning = (
        "Angle between each step and the one before it: at 0 degrees the path goes straight on, at "
        "90 it forgets its direction, above 90 it turns back."
    )
    key: list[Artist] = kinds({v: p.size for v, p in drawn.items()}, facts.alternating)
    if any(_start(v) is not None for v in variants):
        key.append(Line2D([], [], color=NOTE, alpha=0.6, lw=1.0, ls=":", label="before training"))
    if variants[0].index == 0 and len(variants) > 1:
        key.append(
            Line2D([], [], color=_GROUND, lw=1.4, label=f"{short(variants[0].text)}, to compare")
        )
    if any(len(v.at(v.checkpoint or 0)) > 1 for v in variants):
        key.append(Patch(color=NOTE, alpha=_BAND, lw=0, label="95 % interval over seeds"))
    key.append(Line2D([], [], marker="o", ls="", color=NOTE, ms=7.5, label="mean over depth"))
    if any(_has_null(v) for v in variants):
        null = "null model: the same update over orthogonal increments"
        key.append(Line2D([], [], marker="D", ls="", mfc="white", mec=NOTE, ms=6, label=null))
    title = f"Turning angle through depth {at_steps(variants)}, {seeds_of(variants)}"
    return Head(_WIDTH, title, (meaning, " ".join(notes)), key)


def _has_null(variant: Variant) -> bool:
    return variant.checkpoint is not None and bool(variant.scalar(_NULL, variant.checkpoint))


def _start(variant: Variant) -> np.ndarray | None:
    return variant.profile(_NAME, 0) if variant.checkpoint not in (0, None) else None


def _draw(
    axes: Axes, variant: Variant, drawn: Mapping[Variant, np.ndarray], alternating: int | None
) -> float:
    """Draw one panel and return its largest angle."""
    last = variant.checkpoint
    assert last is not None
    style = look(variant.index)
    first = next(iter(drawn))
    if first.index == 0 and first is not variant:
        ground = drawn[first]
        axes.plot(np.arange(1, ground.size + 1), ground, color=_GROUND, linewidth=1.4)
    start = _start(variant)
    if start is not None:
        depth = np.arange(1, start.size + 1)
        axes.plot(depth, start, color=style.colour, alpha=0.6, linewidth=1.0, linestyle=":")
    profile = drawn[variant]
    depth = np.arange(1, profile.size + 1)
    rows = variant.profiles(_NAME, last)
    found = [] if rows is None else intervals(rows)
    low, high = (
        np.array([np.nan if i is None or (v := getattr(i, side)) is None else v for i in found])
        for side in ("low", "high")
    )
    if np.isfinite(low).any():
        axes.fill_between(depth, low, high, color=style.colour, alpha=_BAND, linewidth=0)
    axes.plot(depth, profile, color=style.colour, linestyle=style.dashes, linewidth=1.6)
    mark_kinds(axes, depth, profile, style.colour, alternating)
    beside = profile.size + max(1.6, 0.11 * profile.size)
    axes.axvline((profile.size + beside) / 2, color="#CCCCCC", linewidth=0.8)
    seen = [float(np.nanmax(profile)), *(float(v) for v in high[np.isfinite(high)])]
    seeds, nulls = variant.scalar(_NAME, last), variant.scalar(_NULL, last)
    if seeds:
        mean = mean_interval(seeds)
        if mean.low is not None and mean.high is not None:
            axes.vlines(beside, mean.low, mean.high, color=style.colour, linewidth=1.6)
        axes.plot([beside], [mean.mean], "o", color=style.colour, ms=7.5)
        seen.append(mean.mean)
    if nulls:
        null = float(np.mean(nulls))
        axes.plot([beside], [null], "D", mfc="white", mec=style.colour, ms=6)
        seen.append(null)
    sub_updates(axes, profile.size, 0.4, beside + max(0.8, 0.05 * profile.size))
    ticks = [int(tick) for tick in axes.get_xticks()]
    axes.set_xticks([*ticks, beside], [*map(str, ticks), "mean"])
    return max(seen)
