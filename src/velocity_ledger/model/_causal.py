"""Causal attention of heads: what each position reads of itself and of those before it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from velocity_ledger.model._dropout import select

_PARTS, _LEAST = 2, 32


def causal(
    q: Float[Array, "batch heads time size"],
    k: Float[Array, "batch heads time size"],
    v: Float[Array, "batch heads time size"],
    *,
    mask: Any = None,
    rate: float = 0.0,
) -> Float[Array, "batch heads time size"]:
    """Mix the values of earlier positions: softmax(q k^T) v over j <= i, in float32.

    `mask` says which weights stay under dropout of this rate. Queries are taken in two halves, of
    which the first never meets the second half of the keys: a quarter of the work is left out.
    """
    time = q.shape[2]
    parts = _PARTS if time % _PARTS == 0 and time >= _LEAST else 1
    ends = [time * (i + 1) // parts for i in range(parts)]
    done, start = [], 0
    for end in ends:
        rows = slice(start, end)
        scores = jnp.einsum("bhqd,bhkd->bhqk", q[:, :, rows], k[:, :, :end])
        seen = np.tril(np.ones((time, time), bool))[rows, :end]
        weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
        if mask is not None:
            weights = select(weights, rate, mask[:, :, rows, :end])
        done.append(jnp.einsum("bhqk,bhkd->bhqd", weights, v[:, :, :end]))
        start = end
    return done[0] if parts == 1 else jnp.concatenate(done, axis=2)
