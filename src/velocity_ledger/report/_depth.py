"""Step length, path so far and turning angle through depth, at the last checkpoint."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from velocity_ledger.report._data import Variant, left_out
from velocity_ledger.report._labels import Label, label_ends, width_of
from velocity_ledger.report._style import FAINT, NOTE, figure, look, short


def _same(values: np.ndarray) -> np.ndarray:
    return values


# quantity, what is made of it, title, label of the axis
_PANELS: tuple[tuple[str, Callable[[np.ndarray], np.ndarray], str, str], ...] = (
    ("step_length", _same, "Step length", "units of the\nresidual stream"),
    ("step_length", np.cumsum, "Path length so far", "units of the\nresidual stream"),
    ("turning_angle", _same, "Turning angle from the step before", "degrees"),
)


def depth_figure(variants: Sequence[Variant], alternating: int) -> Figure | None:
    """Profiles of every variant over its sub-updates; None where no path was measured.

    A variant with `alternating` sub-updates is attention and MLP in turns, and its markers say
    which is which.
    """
    drawn = [v for v in variants if v.checkpoint is not None]
    if not drawn:
        return None
    names = {v: short(v.text) for v in drawn}
    right = width_of(list(names.values()))
    width, height = 7.4 + right, 9.0
    made = figure(width, height)
    panels = made.subplots(
        len(_PANELS),
        1,
        sharex=True,
        gridspec_kw={
            "left": 0.95 / width,
            "right": 7.2 / width,
            "top": 1 - 1.15 / height,
            "bottom": 0.55 / height,
            "hspace": 0.28,
        },
    )
    started = False
    labels: list[list[Label]] = []
    for axes, (name, made_of, title, unit) in zip(panels, _PANELS, strict=True):
        labels.append([])
        for variant in drawn:
            label, faint = _draw(axes, variant, name, made_of, alternating)
            started |= faint
            labels[-1] += [label] if label else []
        axes.set_title(title)
        axes.set_ylabel(unit)
        axes.set_ylim(bottom=0.0)
        axes.margins(x=0.03)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=13))
    # The limits are shared: first set them all.
    for axes, ends in zip(panels, labels, strict=True):
        label_ends(axes, ends)
    panels[-1].set_xlabel("sub-update, from the embedding to the last layer")
    _head(made, drawn, started, alternating)
    return made


def _draw(
    axes: Axes,
    variant: Variant,
    name: str,
    made_of: Callable[[np.ndarray], np.ndarray],
    alternating: int,
) -> tuple[Label | None, bool]:
    """Draw one variant; return the label of its end, and whether its start was drawn too."""
    style = look(variant.index)
    last = variant.checkpoint
    assert last is not None
    start = variant.profile(name, 0) if last != 0 else None
    if start is not None:
        depth = np.arange(1, start.size + 1)
        axes.plot(
            depth, made_of(start), color=style.colour, alpha=FAINT, linewidth=1.0,
            linestyle=style.dashes,
        )  # fmt: skip
    values = variant.profile(name, last)
    if values is None or not np.isfinite(values).any():
        return None, start is not None
    values = made_of(values)
    depth = np.arange(1, values.size + 1)
    axes.plot(depth, values, color=style.colour, linestyle=style.dashes)
    if values.size == alternating:
        for first, face in ((0, style.colour), (1, "white")):
            axes.plot(
                depth[first::2], values[first::2], "os"[first], color=style.colour, mfc=face, ms=5
            )
    else:
        axes.plot(depth, values, ".", color=style.colour)
    known = np.flatnonzero(np.isfinite(values))[-1]
    end = Label(float(depth[known]), float(values[known]), short(variant.text), style.colour)
    return end, start is not None


def _head(made: Figure, drawn: Sequence[Variant], started: bool, alternating: int) -> None:
    width, height = made.get_size_inches()
    steps = {v.checkpoint for v in drawn}
    where = f"step {steps.pop():,}" if len(steps) == 1 else "each variant's last checkpoint"
    title = f"Through depth, at {where}{left_out(drawn)}"
    made.text(0.15 / width, 1 - 0.35 / height, title, fontsize=11, weight="bold")
    sizes = {d.sizes.get("sub_update", 0) for v in drawn for d in v.cells.values()}
    handles = []
    if alternating in sizes:
        handles += [
            Line2D([], [], color=NOTE, marker="o", ls="", ms=5, label="attention"),
            Line2D([], [], color=NOTE, marker="s", mfc="white", ls="", ms=5, label="MLP"),
        ]
    if started:
        faint = Line2D([], [], color=NOTE, alpha=FAINT, linewidth=1.2, label="before training")
        handles.append(faint)
    if handles:
        made.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(0.05 / width, 1 - 0.38 / height),
            ncols=len(handles),
            handletextpad=0.4,
            columnspacing=1.4,
            labelcolor=NOTE,
        )
