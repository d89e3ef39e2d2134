"""Dropout as a selection, its mask drawn from a key alone."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_LEVELS = 2**16


def dropout(
    x: Float[Array, "*shape"], rate: float, key: Any, mask_shape: tuple[int, ...] | None = None
) -> Float[Array, "*shape"]:
    """Zero entries of `x` at a rate and divide the others by the probability of staying.

    Off where `key` is None. `mask_shape` broadcasts against `x`: an axis of length 1 shares the
    mask. The rate is rounded to a multiple of 2^-16, and the divisor is the rounded one, so the
    expectation is exact. A selection, not a product: nothing is left for a compiler to contract
    with the sum that follows.
    """
    kept = round((1.0 - rate) * _LEVELS)
    if key is None or kept == _LEVELS:
        return x
    keep = _bits(key, x.shape if mask_shape is None else mask_shape) < kept
    return jnp.where(keep, x / (kept / _LEVELS), 0.0)


def _bits(key: jax.Array, shape: tuple[int, ...]) -> Any:
    """Return 16 random bits an entry: half of what 32-bit draws would cost."""
    size = 1
    for length in shape:
        size *= length
    words = jax.random.bits(key, ((size + 1) // 2,), jnp.uint32)
    halves = jax.lax.bitcast_convert_type(words, jnp.uint16).reshape(-1)
    return halves[:size].reshape(shape)
