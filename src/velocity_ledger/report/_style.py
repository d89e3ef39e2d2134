"""One look for all figures, whatever the reader's own matplotlib settings are."""

import contextlib
import dataclasses as dc
from collections.abc import Iterator

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

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
_SETTINGS = {
    "figure.dpi": 100,
    "savefig.dpi": 160,
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
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "legend.fontsize": 9,
    # Without a salt, ids inside an SVG are drawn by chance.
    "svg.hashsalt": "velocity-ledger",
}
FAINT = 0.35
NOTE = "#555555"


@dc.dataclass(frozen=True)
class Look:
    """How one variant is drawn in every figure."""

    colour: str
    dashes: tuple[int, tuple[float, ...]]


def look(index: int) -> Look:
    """The look of the variant at this place in the run."""
    return Look(_COLOURS[index % len(_COLOURS)], _DASHES[index % len(_DASHES)])


def short(text: str, most: int = 30) -> str:
    """`text` on one line, its middle left out where it is longer than a label can be."""
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


def note(axes: Axes, text: str) -> None:
    """A quiet line between an axes' title and its frame."""
    axes.set_title(axes.get_title("left"), loc="left", pad=22)
    axes.annotate(
        text,
        (0.0, 1.0),
        (0.0, 7.0),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=9,
        color=NOTE,
        va="bottom",
        ha="left",
    )
