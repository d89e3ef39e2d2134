"""Names of variants, how wide they are, and where they are written at the ends of lines."""

import collections
import dataclasses as dc
import itertools
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from velocity_ledger.report._style import font, harmless, short

_GAP = 1.35  # Distance of labels' centres, in heights of their type.
_SIZE = 9.5
_LEAD = 0.3  # Inches between the axes and the labels, for their lines.


@dc.dataclass(frozen=True)
class Label:
    """A text for the end of a line at (x, y), in data units."""

    x: float
    y: float
    text: str
    colour: str
    """Of the text; its line is fainter."""


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
    width_in, height_in = axes.get_position().size * figure.get_size_inches()
    gap = _GAP * _SIZE / 72.0 / height_in
    places = spread([float(np.clip(y, 0.0, 1.0)) for _, y in ends], gap, 0.02, 0.98)
    for label, (x, y), place in zip(labels, ends, places, strict=True):
        axes.annotate(
            label.text,
            (min(float(x), 1.0), float(np.clip(y, 0.0, 1.0))),
            (1.0 + _LEAD / width_in, place),
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


def distinct(texts: Sequence[str], most: int = 30) -> list[str]:
    """A label for each text, `most` characters or little more, different for different texts.

    Of texts that would shorten to the same label, what they have in common is left out first.
    """
    plain = [harmless(text) for text in texts]
    found = [short(text, most) for text in plain]
    alike: dict[str, list[int]] = collections.defaultdict(list)
    for k, label in enumerate(found):
        alike[label].append(k)
    for members in alike.values():
        group = sorted({plain[k] for k in members})
        if len(group) == 1:
            continue
        start = _common(group)
        end = _common([text[start:][::-1] for text in group])
        start = max(0, start - most // 3)  # What differs may be one digit: say of what.
        for k in members:
            core = plain[k][start : len(plain[k]) - max(0, end - most // 3)]
            found[k] = short(f"…{core}…", most)
    owner: dict[str, str] = {}
    for k, text in enumerate(plain):
        number = k
        # Where shortening still hides the difference, a number tells.
        while owner.setdefault(found[k], text) != text:
            number += 1
            found[k] = f"{short(text, most - 5)} (#{number})"
    return found


def _common(texts: Sequence[str]) -> int:
    """How many characters all texts begin with."""
    return sum(
        1 for _ in itertools.takewhile(lambda c: len(set(c)) == 1, zip(*texts, strict=False))
    )


def text_width(text: str, size: float = _SIZE, *, bold: bool = False) -> float:
    """Inches that a line of text takes at `size` points."""
    face = font(bold)
    # Large, or every letter would be rounded to a whole point. When it is drawn letters are
    # rounded to whole pixels, hence the reserve.
    face.set_size(size, 720)
    face.set_text(text)
    return 1.05 * face.get_width_height()[0] / 64 / 720


def wrap(text: str, inches: float, size: float = _SIZE) -> list[str]:
    """`text` in lines no wider than `inches`, broken between words, or in one that does not fit."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        tried = f"{line} {word}" if line else word
        if not line or text_width(tried, size) <= inches:
            line = tried
        else:
            lines.append(line)
            line = word
        while len(line) > 1 and text_width(line, size) > inches:
            fits = 1
            while text_width(line[: fits + 1], size) <= inches:
                fits += 1
            lines.append(line[:fits])
            line = line[fits:]
    return [*lines, line]


def width_of(texts: Sequence[str], size: float = _SIZE) -> float:
    """Inches that labels of these texts need to the right of an axes, their lines included."""
    return _LEAD + 0.15 + max((text_width(text, size) for text in texts), default=0.0)
