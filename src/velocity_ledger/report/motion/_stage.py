"""A picture measured in pixels, of which only the moving parts are drawn anew."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from matplotlib.text import Text

from velocity_ledger.report._labels import text_width, wrap
from velocity_ledger.report._style import figure

_DPI = 100
_POINT = 72 / _DPI  # Points in a pixel.
_HEAD = 13.0  # Length of an arrow's head.
Number = int | float


class Stage:
    """Texts, lines and arrows at pixels, counted from the top left.

    What is not `moving` is drawn once, at the first `frame`.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._figure = figure(width / _DPI, height / _DPI)
        self._figure.set_dpi(_DPI)
        self._axes = self._figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()
        self._axes.set_xlim(0, width)
        self._axes.set_ylim(height, 0)
        self._moving: list[Artist] = []
        self._background: Any = None

    def text(
        self, x: Number, y: Number, text: str, size: Number, *, colour: str = "black",
        bold: bool = False, align: str = "left", moving: bool = False,
    ) -> Text:  # fmt: skip
        """A line of text on its base line; size in pixels."""
        made = self._axes.text(
            x, y, text, size=size * _POINT, color=colour, weight="bold" if bold else "normal",
            ha=align, va="baseline", parse_math=False,
        )  # fmt: skip
        self._add(made, moving)
        return made

    def paragraph(
        self, x: Number, y: Number, width: Number, text: str, size: Number, colour: str
    ) -> None:
        """Lines of text, broken to `width`."""
        for k, line in enumerate(lines(text, width, size)):
            self.text(x, y + k * 1.3 * size, line, size, colour=colour)

    def line(
        self, points: Float[np.ndarray, "points 2"], colour: str, width: Number,
        *, moving: bool = False, **options: Any,
    ) -> Line2D:  # fmt: skip
        """A line, or markers; width in pixels."""
        # What it does not need is not tested for: limits never change.
        made = Line2D(
            points[:, 0], points[:, 1], color=colour, linewidth=width * _POINT,
            solid_capstyle="round", solid_joinstyle="round", **options,
        )  # fmt: skip
        self._axes.add_line(made)
        self._add(made, moving)
        return made

    def marks(
        self, points: Float[np.ndarray, "points 2"], colour: str, size: Number,
        *, fill: str | None = None, shape: str = "o", edge: Number = 2.0, moving: bool = False,
    ) -> Line2D:  # fmt: skip
        """Markers of `size` pixels."""
        return self.line(
            points, colour, 0.0, moving=moving, linestyle="none", marker=shape,
            markersize=size * _POINT, markeredgecolor=colour, markerfacecolor=fill or colour,
            markeredgewidth=edge * _POINT,
        )  # fmt: skip

    def arrow(
        self, colour: str, width: Number, *, moving: bool = True, alpha: Number = 1.0
    ) -> "Arrow":
        """An arrow, not to be seen before it is placed."""
        # Mixed with white, not transparent: the palette knows the ways to white.
        patch = Polygon(np.zeros((3, 2)), closed=True, facecolor=colour, linewidth=0, alpha=alpha)
        self._axes.add_patch(patch)
        self._add(patch, moving)
        return Arrow(patch, width)

    def frame(self) -> UInt8[np.ndarray, "h w 3"]:
        """The picture as it stands."""
        canvas = self._figure.canvas
        assert isinstance(canvas, FigureCanvasAgg)
        if self._background is None:
            canvas.draw()
            self._background = canvas.copy_from_bbox(self._figure.bbox)
        canvas.restore_region(self._background)
        renderer = canvas.get_renderer()
        for artist in self._moving:
            if artist.get_visible():
                artist.draw(renderer)
        return np.array(canvas.buffer_rgba())[..., :3]

    def _add(self, artist: Artist, moving: bool) -> None:
        artist.set_clip_on(False)
        if moving:
            artist.set_animated(True)
            self._moving.append(artist)


class Arrow:
    """A straight arrow whose head shrinks with it."""

    def __init__(self, patch: Polygon, width: Number) -> None:
        self._patch, self._width = patch, width

    def place(
        self, tail: Float[np.ndarray, " 2"], vector: Float[np.ndarray, " 2"], shown: bool = True
    ) -> None:
        """Let it point from `tail` along `vector`, in pixels."""
        length = float(np.hypot(*vector))
        self._patch.set_visible(shown and length > 0.3)
        if not self._patch.get_visible():
            return
        along = vector / length
        across = np.array([-along[1], along[0]])
        head = min(_HEAD * max(1.0, self._width / 4.5), 0.75 * length)
        half = min(self._width / 2, head / 3)
        neck = tail + (length - head) * along
        wide = 0.46 * head
        self._patch.set_xy(
            np.stack(
                [
                    tail + half * across,
                    neck + half * across,
                    neck + wide * across,
                    tail + vector,
                    neck - wide * across,
                    neck - half * across,
                    tail - half * across,
                ]
            )
        )


def lines(text: str, width: Number, size: Number) -> list[str]:
    """`text` in lines of at most `width` pixels."""
    return wrap(text, width / _DPI, size * _POINT)


def width_of(text: str, size: Number, *, bold: bool = False) -> float:
    """Pixels that a line of text takes."""
    return text_width(text, size * _POINT, bold=bold) * _DPI


def fitting(text: str, width: Number, size: Number) -> str:
    """`text`, its end left out where it is wider than `width` pixels."""
    if width_of(text, size) <= width:
        return text
    while text and width_of(f"{text}…", size) > width:
        text = text[:-1].rstrip()
    return f"{text}…" if text else ""


def ease(t: Number) -> float:
    """From 0 to 1 as t does, starting and ending at rest."""
    t = min(max(t, 0.0), 1.0)
    return t * t * t * (t * (6.0 * t - 15.0) + 10.0)


def number(value: Number) -> str:
    """A value in three or four figures."""
    size = abs(value)
    return f"{value:.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def listed(items: Sequence[str]) -> str:
    """Items as a sentence has them."""
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)
