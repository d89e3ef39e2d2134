"""Training steps at widths from 64 to 512, at batch 16.

Heads stay as many, hidden units are four times the width.
"""

from typing import Any

from benchmarks.bench import Bench
from benchmarks.parts import _sweep


def measure(bench: Bench) -> dict[str, Any]:
    """Plain and the article's way at each width."""
    shapes = [
        (size, _sweep.smaller(bench, width=size, hidden=4 * size))
        for size in bench.sizes(64, 256, 512)
    ]
    return _sweep.measure(bench, "width", shapes)


def told(found: dict[str, Any]) -> str:
    """One table."""
    return _sweep.told("width", found)
