"""Figures as SVG within a page, in the page's own colours, light and dark."""

import io
import re
from typing import Any

BLUE, GREY, INK, ORANGE, GRID = "#0072b2", "#7f7f7f", "#333333", "#d55e00", "#dddddd"
_NAMES = {BLUE: "line", GREY: "plain", INK: "ink", ORANGE: "second", GRID: "grid"}


def text_of(made: Any) -> str:
    """Return a figure's SVG; colours become the variables of docs/site.css."""
    import matplotlib as mpl

    text = io.StringIO()
    # Letters stay letters.
    with mpl.rc_context({"svg.fonttype": "none"}):
        made.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    drawn = text.getvalue()
    drawn = drawn[drawn.index("<svg ") :]
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    # Nothing refers to groups, and every picture of a page would have the same.
    drawn = re.sub(r'<g id="[^"]+"', "<g", drawn)
    for colour, name in _NAMES.items():
        drawn = drawn.replace(colour, f"var(--response-{name})")
    drawn = drawn.replace("#000000", "var(--response-ink)")
    return re.sub(r">\s+<", "><", drawn)
