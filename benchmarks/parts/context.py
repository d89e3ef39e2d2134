"""Training steps at contexts from 64 to 1024, with as many tokens a step: those of batch 16."""

from typing import Any

from benchmarks.bench import Bench
from benchmarks.parts import _sweep


def measure(bench: Bench) -> dict[str, Any]:
    """Plain and the article's way at each context."""
    tokens = _sweep.smaller(bench).tokens
    shapes = [
        (size, bench.shape(context=size, batch=max(1, tokens // size)))
        for size in bench.sizes(64, 256, 1024)
    ]
    return _sweep.measure(bench, "context", shapes)


def told(found: dict[str, Any]) -> str:
    """One table."""
    return _sweep.told("context", found)
