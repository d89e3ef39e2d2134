"""Causal attention of heads: what each position reads of itself and of those before it."""

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from velocity_ledger.model._config import Precision
from velocity_ledger.model._dropout import select
from velocity_ledger.model._product import product

_PARTS, _LEAST = 2, 32
_AMPERE_AND_LATER = (
    "A100",
    "A10",
    "A30",
    "A40",
    "L4",
    "L40",
    "H100",
    "H200",
    "GH200",
    "B100",
    "B200",
)


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
    if precision != "bf16" or jax.default_backend() != "gpu" or q.shape[-1] % 8:
        return False
    kind = jax.devices()[0].device_kind
    return q.shape[-1] <= 128 and any(name in kind for name in _AMPERE_AND_LATER)


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
