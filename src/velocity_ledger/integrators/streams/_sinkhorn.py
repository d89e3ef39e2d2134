"""Doubly stochastic matrices."""

from typing import Any

import jax
from jax.nn import logsumexp


def sinkhorn(logits: Any, iterations: int = 20) -> Any:
    """Return exp(logits) with columns, then rows scaled to sum to 1, `iterations` times.

    Of [..., n, n]. The sums are taken of logarithms, where nothing overflows; rows sum to 1 to
    rounding, columns as far as the iteration has converged (Sinkhorn & Knopp 1967).
    """

    def once(log: Any, _: None) -> tuple[Any, None]:
        log = log - logsumexp(log, -2, keepdims=True)
        return log - logsumexp(log, -1, keepdims=True), None

    log, _ = jax.lax.scan(once, logits, None, length=iterations)
    return jax.numpy.exp(log)
