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


def hashed(first: Words, second: Words, index: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """Mix 64 bits of a key with an index into 32 bits that look random.

    Two rounds of shifts and products (constants of lowbias32, C. Wellons), the second word of the
    key between them, with a constant: a key of zeros is one like any other. It fuses into whatever
    reads the bits, where a counter-based generator is a program of its own that costs more than
    the rest of the step's elementwise work.
    """
    h = index ^ first
    h = (h ^ (h >> 16)) * jnp.uint32(0x21F0AAAD)
    h = (h ^ (h >> 15)) + (second + jnp.uint32(0x9E3779B9))
    h = (h ^ (h >> 16)) * jnp.uint32(0xD35A2D97)
    h = (h ^ (h >> 15)) * jnp.uint32(0x21F0AAAD)
    return h ^ (h >> 15)


def place(shape: tuple[int, ...], row: Any = 0) -> UInt32[Array, "..."]:
    """The index of every entry of an array, whose first row is row `row` of a taller one."""
    index = jax.lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)
    return index + jnp.asarray(row, jnp.uint32) * jnp.uint32(math.prod(shape[1:]))


def words(key: jax.Array) -> tuple[Words, Words, Any]:
    """Two words of a key of any kind, and the row it begins at."""
    data = jax.random.key_data(key)
    if data.shape == _ROWS_SHAPE:
        return data[0], data[1], data[2]
    first, second = data[0], data[1]
    for word in data[2:]:
        first, second = second ^ word, first
    return first, second, 0


def rows_key(key: jax.Array, row: Any) -> jax.Array:
    """Return a key whose draws are rows `row`, `row + 1`, ... of one array, drawn in pieces.

    What is drawn with it for rows 0 to 63 and for 8 times 8 rows is the same; keys folded out of
    it begin at the same row. It serves wherever a JAX key does. An axis before the rows, or none,
    is drawn as it stands: see `dropout` for a mask that all rows share.
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
    index = place(shape, data[2] if shape else 0)
    bits = hashed(data[0], data[1], index)
    if width == 32:
        return bits
    if width < 32:
        return (bits >> (32 - width)).astype({8: jnp.uint8, 16: jnp.uint16}[width])
    more = hashed(data[1], data[0], index).astype(jnp.uint64)
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
