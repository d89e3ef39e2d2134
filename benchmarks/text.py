"""A text to train on, the same everywhere, and windows of it drawn on the host."""

import numpy as np

from benchmarks.shape import Shape

LENGTH = 100_000


def ids(shape: Shape) -> np.ndarray:
    """Token ids that can be learned: after each of them come four others, and no more."""
    draw = np.random.default_rng(7)
    following = draw.integers(0, shape.vocabulary, (shape.vocabulary, 4))
    found = np.empty(LENGTH, np.int32)
    last = 0
    for place, choice in enumerate(draw.integers(0, 4, LENGTH)):
        found[place] = last = following[last, choice]
    return found


def windows(of: np.ndarray, shape: Shape, draw: np.random.Generator) -> np.ndarray:
    """Windows of context + 1 ids, [batch, context + 1]."""
    starts = draw.integers(0, len(of) - shape.context, shape.batch)
    return np.stack([of[start : start + shape.context + 1] for start in starts])
