"""Training steps at widths from 64 to 512; heads stay as many, hidden units four times as wide."""

from typing import Any

from benchmarks.bench import Bench
from benchmarks.parts import _sweep


def measure(bench: Bench) -> dict[str, Any]:
    """Plain, ledger and the article's way at each width."""
    shapes = [
        (size, bench.shape(width=size, hidden=4 * size))
        for size in bench.sizes(64, 128, 192, 256, 384, 512)
    ]
    return _sweep.measure(bench, "width", shapes)


def told(found: dict[str, Any]) -> str:
    """One table."""
    return _sweep.told("width", found)
