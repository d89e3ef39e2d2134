"""Names written at the ends of lines, moved apart where the lines meet."""

import dataclasses as dc
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

_GAP = 1.35  # Distance of labels' centres, in heights of their type.
_SIZE = 9.5


@dc.dataclass(frozen=True)
class Label:
    """A text for the end of a line at (x, y), in data units."""

    x: float
    y: float
    text: str
    colour: str


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places near the wanted ones, in the same order, at least `gap` apart, within [low, high].

    Where they do not all fit they are spaced evenly over the whole interval.
    """
    count = len(wanted)
    if count == 0:
        return []
    gap = min(gap, (high - low) / max(count - 1, 1))
    order = sorted(range(count), key=lambda k: wanted[k])
    # Least squares under the order: pool neighbours that push each other (isotonic regression of
    # wanted_k - k gap), then give the gaps back.
    blocks: list[tuple[float, int]] = []
    for k, place in enumerate(order):
        value, size = float(wanted[place]) - k * gap, 1
        while blocks and blocks[-1][0] > value:
            before, number = blocks.pop()
            value = (before * number + value * size) / (number + size)
            size += number
        blocks.append((value, size))
    flat = np.repeat([value for value, _ in blocks], [size for _, size in blocks])
    sorted_places = np.clip(flat, low, high - (count - 1) * gap) + np.arange(count) * gap
    places = np.empty(count)
    places[order] = sorted_places
    return [float(place) for place in places]


def label_ends(axes: Axes, labels: Sequence[Label]) -> None:
    """Write labels to the right of `axes`, each with a thin line to its own line's end.

    Call it when the limits and the layout of the axes are final.
    """
    if not labels:
        return
    figure = axes.get_figure(root=True)
    assert figure is not None
    # Asking for the limits makes matplotlib compute them, which it puts off.
    _ = axes.get_xlim(), axes.get_ylim()
    to_pixels, to_axes = axes.transData.transform, axes.transAxes.inverted().transform
    ends = [to_axes(to_pixels((label.x, label.y))) for label in labels]
    height_in = axes.get_position().height * float(figure.get_size_inches()[1])
    gap = _GAP * _SIZE / 72.0 / height_in
    places = spread([float(np.clip(y, 0.0, 1.0)) for _, y in ends], gap, 0.02, 0.98)
    for label, (x, y), place in zip(labels, ends, places, strict=True):
        axes.annotate(
            label.text,
            (min(float(x), 1.0), float(np.clip(y, 0.0, 1.0))),
            (1.045, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=label.colour,
            fontsize=_SIZE,
            va="center",
            ha="left",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": label.colour,
                "linewidth": 0.7,
                "alpha": 0.6,
                "shrinkA": 1,
                "shrinkB": 5,
                "relpos": (0.0, 0.5),
            },
        )


def width_of(texts: Sequence[str]) -> float:
    """Inches that labels of these texts need to the right of an axes, their lines included."""
    longest = max((len(text) for text in texts), default=0)
    return 0.35 + longest * 0.62 * _SIZE / 72.0
