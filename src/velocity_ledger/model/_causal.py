"""Causal attention of heads: what each position reads of itself and of those before it."""

import re
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from velocity_ledger.machine import device
from velocity_ledger.model._config import Precision
from velocity_ledger.model._dropout import select
from velocity_ledger.model._product import product

_PARTS, _LEAST = 2, 32
# What `jax.nn.dot_product_attention` takes, by compute capability: Ampere, Hopper.
_LARGEST_HEAD = {(8, 0): 128, (9, 0): 256}


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
    if mask is None and fits_cudnn(q, precision):
        return _cudnn(q, k, v)
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


def fits_cudnn(q: Float[Array, "batch heads time size"], precision: Precision) -> bool:
    """Whether cuDNN's fused attention does it: in 16 bits, without dropout, on NVIDIA GPUs."""
    card = device()
    if precision != "bf16" or card.platform != "gpu":
        return False
    # Other makers' cards tell no such number.
    told = re.fullmatch(r"(\d+)\.(\d+)", str(getattr(card, "compute_capability", "")))
    able = (int(told[1]), int(told[2])) if told else (0, 0)
    largest = max((size for least, size in _LARGEST_HEAD.items() if able >= least), default=0)
    return q.shape[-1] % 8 == 0 and q.shape[-1] <= largest


def _cudnn(q: Any, k: Any, v: Any) -> Any:
    small = (x.astype(jnp.bfloat16).swapaxes(1, 2) for x in (q, k, v))
    mixed = fused(*small)
    return mixed.swapaxes(1, 2).astype(q.dtype)


def fused(
    q: Float[Array, "batch time heads size"],
    k: Float[Array, "batch time heads size"],
    v: Float[Array, "batch time heads size"],
    implementation: Literal["cudnn", "xla"] = "cudnn",
) -> Float[Array, "batch time heads size"]:
    """The same as one program of cuDNN's, which keeps no attention weights in memory."""
    return jax.nn.dot_product_attention(
        q, k, v, is_causal=True, scale=1.0, implementation=implementation
    )
