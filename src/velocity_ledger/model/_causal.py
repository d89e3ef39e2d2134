"""Causal attention of heads: what each position reads of itself and of those before it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from velocity_ledger.model._config import Precision
from velocity_ledger.model._dropout import select
from velocity_ledger.model._product import product

_PARTS, _LEAST = 2, 32


def causal(
    q: Float[Array, "batch heads time size"],
    k: Float[Array, "batch heads time size"],
    v: Float[Array, "batch heads time size"],
    *,
    mask: Any = None,
    rate: float = 0.0,
    precision: Precision = "fp32",
) -> Float[Array, "batch heads time size"]:
    """Mix the values of earlier positions: softmax(q k^T) v over j <= i.

    `mask` says which weights stay under dropout of this rate. Queries are taken in two halves, of
    which the first never meets the second half of the keys: a quarter of the work is left out.
    """
    time = q.shape[2]
    parts = _PARTS if time % _PARTS == 0 and time >= _LEAST else 1
    ends = [time * (i + 1) // parts for i in range(parts)]
    done, start = [], 0
    for end in ends:
        rows = slice(start, end)
        scores = product("bhqd,bhkd->bhqk", q[:, :, rows], k[:, :, :end], precision)
        seen = np.tril(np.ones((time, time), bool))[rows, :end]
        weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
        if mask is not None:
            weights = select(weights, rate, mask[:, :, rows, :end])
        done.append(product("bhqk,bhkd->bhqd", weights, v[:, :, :end], precision))
        start = end
    return done[0] if parts == 1 else jnp.concatenate(done, axis=2)
