"""The gradient of a batch, taken a few windows at a time."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from velocity_ledger.model import rows_key
from velocity_ledger.training._validation import token_losses

CPU_TOKENS = 1024
"""What a CPU's cache holds of a small model's activations is about that of so many tokens."""


def microbatch(asked: int | None, batch: int, context: int) -> int:
    """Windows whose gradients are taken at a time: as asked, or what suits the backend.

    None means the whole batch, but on a CPU the largest divisor of the batch of at most
    `CPU_TOKENS` tokens: activations then stay in the cache, and their memory is reused.
    """
    if asked is not None:
        return asked
    if jax.default_backend() != "cpu":
        return batch
    fits = [n for n in range(1, batch + 1) if batch % n == 0 and n * context <= CPU_TOKENS]
    return max(fits, default=1)


def mean_loss_of(graphdef: Any, params: Any, rest: Any, tokens: Any, key: Any) -> Float[Array, ""]:
    """Mean cross-entropy of windows of context + 1 tokens, with dropout."""
    model: Any = nnx.merge(graphdef, params, rest)
    return jnp.mean(token_losses(model(tokens[:, :-1], key=key), tokens[:, 1:]))


def loss_and_gradient(
    graphdef: Any,
    params: Any,
    rest: Any,
    tokens: Int[Array, "batch window"],
    key: jax.Array,
    at_a_time: int,
) -> tuple[Float[Array, ""], Any]:
    """Return the mean loss of a batch and its gradient, `at_a_time` windows after another.

    Dropout draws the same bits for a window whatever its piece (`rows_key`), so the pieces change
    the order of sums, nothing else. `at_a_time` divides the batch.
    """
    batch = tokens.shape[0]
    of = jax.value_and_grad(lambda p, part, k: mean_loss_of(graphdef, p, rest, part, k))
    if at_a_time == batch:
        return of(params, tokens, rows_key(key, 0))
    pieces = batch // at_a_time

    def add(total: Any, piece: Any) -> tuple[Any, None]:
        row, part = piece
        return jax.tree.map(jnp.add, total, of(params, part, rows_key(key, row))), None

    rows = jnp.arange(pieces, dtype=jnp.uint32) * at_a_time
    parts = tokens.reshape(pieces, at_a_time, -1)
    wide = jnp.result_type(jnp.float32, *jax.tree.leaves(params))
    nothing = jnp.zeros((), wide), jax.tree.map(jnp.zeros_like, params)
    total, _ = jax.lax.scan(add, nothing, (rows, parts))
    return jax.tree.map(lambda leaf: leaf / pieces, total)
