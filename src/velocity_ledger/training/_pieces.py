"""How many windows of a batch are worked on at a time."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from velocity_ledger.machine import platform

CPU_TOKENS = 1024
"""What a CPU's cache holds of a small model's activations is about that of so many tokens."""


def microbatch(asked: int | None, batch: int, context: int) -> int:
    """Windows that are worked on at a time: as asked, or what suits the backend.

    None means the whole batch, but on a CPU at most `CPU_TOKENS` tokens: activations then stay in
    the cache, and their memory is reused. It is the largest divisor of the batch that is so small,
    or, where that is less than half of what may be, the size of as few pieces, the last one
    shorter.
    """
    if asked is not None:
        return asked
    if platform() != "cpu":
        return batch
    most = min(batch, max(1, CPU_TOKENS // context))
    divisor = max(n for n in range(1, most + 1) if batch % n == 0)
    if 2 * divisor > most:
        return divisor
    return -(-batch // -(-batch // most))


def mapped(of: Callable[[Any], Any], tokens: Int[Array, "batch window"], at_a_time: int) -> Any:
    """Return `of(tokens)`, an array with a row a window, computed `at_a_time` windows at a time."""
    batch = tokens.shape[0]
    if at_a_time >= batch:
        return of(tokens)
    whole = batch // at_a_time * at_a_time
    found = jax.lax.map(of, tokens[:whole].reshape(-1, at_a_time, *tokens.shape[1:]))
    found = found.reshape(whole, *found.shape[2:])
    return found if whole == batch else jnp.concatenate([found, of(tokens[whole:])])
