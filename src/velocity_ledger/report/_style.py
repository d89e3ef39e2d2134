"""One look for all figures, whatever the reader's own matplotlib settings are."""

import contextlib
import dataclasses as dc
import functools
import unicodedata
from collections.abc import Iterator, Sequence

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import FT2Font

# Okabe and Ito (2008), told apart by all forms of colour vision; grey for their yellow, which
# fades on white.
_COLOURS = (
    "#000000",
    "#D55E00",
    "#0072B2",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#7F7F7F",
)
# As many as colours plus one, so that a ninth variant differs from the first in both.
_DASHES = (
    (0, ()),
    (0, (6.0, 1.5)),
    (0, (3.0, 1.0)),
    (0, (1.0, 1.0)),
    (0, (6.0, 1.5, 1.0, 1.5)),
    (0, (3.0, 1.0, 1.0, 1.0, 1.0, 1.0)),
    (0, (10.0, 2.0)),
    (0, (1.0, 2.0)),
    (0, (8.0, 1.5, 2.0, 1.5)),
)
FONT = "DejaVu Sans"
"""It comes with matplotlib, so that texts have the same widths everywhere."""
_SETTINGS = {
    "figure.dpi": 100,
    "savefig.dpi": 160,
    # Figures go into documents, whose own background may be dark.
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "font.family": [FONT],
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "legend.fontsize": 9,
    # A variant's name may hold a dollar sign.
    "text.parse_math": False,
    # Without a salt, ids inside an SVG are drawn by chance.
    "svg.hashsalt": "velocity-ledger",
}
FAINT = 0.35
NOTE = "#555555"
_LEGIBLE = 4.5  # Contrast of text on its ground that WCAG asks for.


@dc.dataclass(frozen=True)
class Look:
    """How one variant is drawn in every figure."""

    colour: str
    dashes: tuple[int, tuple[float, ...]]

    @property
    def ink(self) -> str:
        """The colour, dark enough for text on white."""
        return _ink(self.colour)

    @property
    def tint(self) -> str:
        """The colour, light enough for marks on it."""
        return tint(self.colour)


def look(index: int) -> Look:
    """The look of the variant at this place in the run."""
    return Look(_COLOURS[index % len(_COLOURS)], _DASHES[index % len(_DASHES)])


def tint(colour: str) -> str:
    """`colour` half way to white; unlike a transparent one it hides what lies behind."""
    r, g, b = (0.5 + 0.5 * c for c in to_rgb(colour))
    return to_hex((r, g, b))


@functools.cache
def _ink(colour: str) -> str:
    rgb = to_rgb(colour)
    while 1.05 / (_luminance(rgb) + 0.05) < _LEGIBLE:
        r, g, b = rgb
        rgb = (0.97 * r, 0.97 * g, 0.97 * b)
    return to_hex(rgb)


def _luminance(rgb: Sequence[float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@functools.cache
def font(bold: bool = False) -> FT2Font:
    """The font of all texts."""
    properties = FontProperties(family=FONT, weight="bold" if bold else "normal")
    return get_font(findfont(properties, fallback_to_default=False))


def harmless(text: str) -> str:
    """`text` with every character that has no shape, or would move others, as its escape.

    Those are control characters, line ends, lone surrogates, marks of direction, letters that run
    from right to left, and what the font cannot draw.
    """
    return "".join(c if _plain(c) else c.encode("unicode_escape").decode() for c in text)


def _plain(character: str) -> bool:
    return (
        character.isprintable()
        and unicodedata.bidirectional(character) not in ("R", "AL", "AN")
        and font().get_char_index(ord(character)) != 0
    )


def short(text: str, most: int = 30) -> str:
    """`text` on one line, its middle left out where it is longer than a label can be."""
    text = harmless(text)
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Draw with our settings over matplotlib's own defaults."""
    with mpl.rc_context():
        # Not the backend: no window system is ever asked for.
        for name, value in (*mpl.rcParamsDefault.items(), *_SETTINGS.items()):
            if not name.startswith("backend"):
                mpl.rcParams[name] = value  # pyright: ignore[reportArgumentType]
        yield


def figure(width: float, height: float) -> Figure:
    """An empty figure in inches, with a canvas that needs no display."""
    made = Figure(figsize=(width, height))
    FigureCanvasAgg(made)
    return made
