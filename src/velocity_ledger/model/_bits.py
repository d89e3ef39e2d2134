"""Random bits as a function of a key and a place, for batches that are worked on in pieces."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import random as extended
from jaxtyping import Array, UInt32

Words = UInt32[Array, ""]

_ROWS_SHAPE = (3,)
"""Two words and a row; no other kind of key has three."""


def hashed(
    first: Words, second: UInt32[Array, "..."], index: UInt32[Array, "*shape"]
) -> UInt32[Array, "*shape"]:
    """Mix 64 bits of a key with an index into 32 bits that look random.

    Two rounds of shifts and products, with multipliers that hash-prospector (C. Wellons) found to
    mix 32 bits well, and the second word of the key between them, with a constant: a key of zeros
    is one like any other. It fuses into whatever reads the bits, where a counter-based generator is
    a program of its own that costs more than the rest of the step's elementwise work.
    """
    h = index ^ first
    h = (h ^ (h >> 16)) * jnp.uint32(0x21F0AAAD)
    h = (h ^ (h >> 15)) + (second + jnp.uint32(0x9E3779B9))
    h = (h ^ (h >> 16)) * jnp.uint32(0xD35A2D97)
    h = (h ^ (h >> 15)) * jnp.uint32(0x21F0AAAD)
    return h ^ (h >> 15)


def drawn(first: Words, second: Words, shape: tuple[int, ...], row: Any = 0) -> Any:
    """Return 32 bits for every entry of an array whose first row is row `row` of a taller one.

    Places are counted over as many rows as 32 bits can count, and then anew under another key: no
    two rows share their bits, however large a row is, up to 2^32 entries.
    """
    if not shape:
        return hashed(first, second, jnp.uint32(0))
    size = math.prod(shape[1:])
    counted = jnp.uint32(min(2**32 // max(size, 1), 2**32 - 1))
    rows = jnp.asarray(row, jnp.uint32) + jax.lax.iota(jnp.uint32, shape[0])
    rows = rows.reshape(-1, *[1] * (len(shape) - 1))
    within = jax.lax.iota(jnp.uint32, size).reshape(1, *shape[1:])
    other = second + rows // counted * jnp.uint32(0x85EBCA6B)
    return hashed(first, other, rows % counted * jnp.uint32(size) + within)


def words(key: jax.Array) -> tuple[Words, Words, Any]:
    """Two words of a key of any kind, and the row it begins at."""
    data = jax.random.key_data(key)
    if data.shape == _ROWS_SHAPE:
        return data[0], data[1], data[2]
    if data.shape == (4,):
        # Both halves of an rbg key may be equal: neither word can stand for the other.
        data = extended.threefry_2x32(data[:2], data[2:])
    return data[0], data[1], 0


def rows_key(key: jax.Array, row: Any) -> jax.Array:
    """Return a key whose draws are rows `row`, `row + 1`, ... of one array, drawn in pieces.

    What is drawn with it for rows 0 to 63 and for 8 times 8 rows is the same; keys folded out of
    it begin at the same row. It serves wherever a JAX key does, for arrays whose first axis is that
    of the rows. What has none, such as noise of shape [width], is taken for a row of its own and
    differs from piece to piece: see `dropout` for a mask that all rows share.
    """
    first, second, _ = words(key)
    start = jnp.asarray(row, jnp.uint32)
    return jax.random.wrap_key_data(jnp.stack([first, second, start]), impl=_ROWS)


def _seed(seed: Any) -> Any:
    return jnp.concatenate([jax.random.key_data(jax.random.key(seed)), jnp.zeros(1, jnp.uint32)])


def _fold_in(data: Any, number: Any) -> Any:
    count = jnp.stack([jnp.uint32(0), jnp.asarray(number).astype(jnp.uint32)])
    return jnp.concatenate([extended.threefry_2x32(data[:2], count), data[2:]])


def _split(data: Any, shape: tuple[int, ...]) -> Any:
    numbers = jnp.arange(math.prod(shape), dtype=jnp.uint32)
    return jax.vmap(lambda number: _fold_in(data, number))(numbers).reshape(*shape, 3)


def _random_bits(data: Any, width: int, shape: tuple[int, ...]) -> Any:
    bits = drawn(data[0], data[1], shape, data[2])
    if width == 32:
        return bits
    if width < 32:
        return (bits >> (32 - width)).astype({8: jnp.uint8, 16: jnp.uint16}[width])
    more = drawn(data[1], data[0], shape, data[2]).astype(jnp.uint64)
    return (more << 32) | bits.astype(jnp.uint64)


_ROWS = extended.define_prng_impl(
    key_shape=_ROWS_SHAPE,
    seed=_seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="rows",
    tag="rows",
)
