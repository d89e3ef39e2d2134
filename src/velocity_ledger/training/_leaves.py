"""What is done to every leaf of a tree of arrays."""

from typing import Any

import jax
import jax.numpy as jnp


def is_key(leaf: Any) -> bool:
    """Whether a leaf holds keys: what is done to numbers cannot be done to them."""
    return jnp.issubdtype(jnp.result_type(leaf), jax.dtypes.prng_key)


def numbers(leaf: Any) -> jax.Array:
    """Return a leaf as numbers, keys as those they are made of."""
    array = jnp.asarray(leaf)
    return jax.random.key_data(array) if is_key(array) else array


def strong(tree: Any) -> Any:
    """Give every leaf a definite type: a weakly typed one would be compiled for twice."""

    def one(leaf: Any) -> Any:
        array = jnp.asarray(leaf)
        return array if is_key(array) else jnp.asarray(array, dtype=array.dtype)

    return jax.tree.map(one, tree)


def placed(tree: Any) -> Any:
    """Copy every leaf to its own place, so that donating it touches nobody else's array.

    Restored arrays are bound to their device; fresh ones must be too, or the two would not run
    the same program.
    """
    return jax.tree.map(lambda leaf: jax.device_put(jnp.copy(leaf), leaf.sharding), tree)


@jax.jit
def copied(tree: Any) -> Any:
    """`placed` for leaves that have their place, in one program."""
    return jax.tree.map(jnp.copy, tree)


@jax.jit
def all_finite(tree: Any) -> jax.Array:
    """Whether no floating leaf holds a NaN or an infinity."""
    floating = [x for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.inexact)]
    return jnp.all(jnp.array([jnp.all(jnp.isfinite(x)) for x in floating] or [True]))
