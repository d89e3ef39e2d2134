"""Dropout as a selection, its mask drawn from a key alone."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from velocity_ledger.model._bits import drawn, words

_LEVELS = 2**16


def dropout(
    x: Float[Array, "*shape"], rate: float, key: Any, mask_shape: tuple[int, ...] | None = None
) -> Float[Array, "*shape"]:
    """Zero entries of `x` at a rate and divide the others by the probability of staying.

    Off where `key` is None. `mask_shape` broadcasts against `x`: an axis of length 1 shares the
    mask. The rate is rounded to a multiple of 2^-16, and the divisor is the rounded one, so the
    expectation is exact. The bits are a hash of the key and of an entry's place; with a key of
    rows (`rows_key`) the first axis of `x` begins at its row, unless the mask is shared over it.
    A selection, not a product: nothing is left for a compiler to contract with the sum that
    follows.
    """
    if key is None or _levels(rate) == _LEVELS:
        return x
    shared = mask_shape is not None and mask_shape[:1] == (1,)
    shape = x.shape if mask_shape is None else mask_shape
    return select(x, rate, kept(key, rate, shape, shared=shared))


def kept(
    key: jax.Array, rate: float, shape: tuple[int, ...], *, shared: bool = False
) -> Bool[Array, "..."]:
    """Which entries of an array of this shape stay; with `shared` all rows have the same mask."""
    first, second, row = words(key)
    bits = drawn(first, second, shape, 0 if shared else row)
    return bits >> 16 < _levels(rate)


def select(
    x: Float[Array, "*shape"], rate: float, mask: Bool[Array, "..."]
) -> Float[Array, "*shape"]:
    """Zero what does not stay and divide the rest by the probability of staying."""
    return jnp.where(mask, x / jnp.asarray(_levels(rate) / _LEVELS, x.dtype), 0)


def _levels(rate: float) -> int:
    return round((1.0 - rate) * _LEVELS)
