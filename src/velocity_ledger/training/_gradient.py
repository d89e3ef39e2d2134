"""The gradient of a batch, taken a few windows at a time."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int

from velocity_ledger.model import rows_key
from velocity_ledger.training._validation import token_losses


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
    the order of sums, nothing else. Where `at_a_time` does not divide the batch, the last piece is
    shorter and counts less.
    """
    of = jax.value_and_grad(lambda p, part, k: mean_loss_of(graphdef, p, rest, part, k))
    nothing = jnp.zeros((), _wide(params)), jax.tree.map(jnp.zeros_like, params)
    return _mean(lambda part, k: of(params, part, k), nothing, tokens, key, at_a_time)


def loss_in_pieces(
    graphdef: Any,
    params: Any,
    rest: Any,
    tokens: Int[Array, "batch window"],
    key: jax.Array,
    at_a_time: int,
) -> Float[Array, ""]:
    """Return the loss of `loss_and_gradient` alone, to be differentiated in as little memory."""

    def of(part: Any, k: Any) -> jax.Array:
        return mean_loss_of(graphdef, params, rest, part, k)

    # Nothing inside a piece is kept for the derivative: it is computed anew, piece by piece.
    once = of if at_a_time == tokens.shape[0] else jax.checkpoint(of)
    return _mean(once, jnp.zeros((), _wide(params)), tokens, key, at_a_time)


def _wide(params: Any) -> Any:
    return jnp.result_type(jnp.float32, *jax.tree.leaves(params))


def _mean(
    of: Callable[[Any, Any], Any], nothing: Any, tokens: Any, key: Any, at_a_time: int
) -> Any:
    """The mean over windows of `of`, which gives the mean over its own, in a tree of arrays."""
    batch = tokens.shape[0]
    if at_a_time == batch:
        return of(tokens, rows_key(key, 0))
    pieces, left = divmod(batch, at_a_time)

    def add(total: Any, piece: Any) -> tuple[Any, None]:
        row, part = piece
        return jax.tree.map(jnp.add, total, of(part, rows_key(key, row))), None

    rows = jnp.arange(pieces, dtype=jnp.uint32) * at_a_time
    parts = tokens[: batch - left].reshape(pieces, at_a_time, -1)
    total, _ = jax.lax.scan(add, nothing, (rows, parts))
    if not left:
        return jax.tree.map(lambda leaf: leaf / pieces, total)
    last = of(tokens[batch - left :], rows_key(key, batch - left))
    return jax.tree.map(lambda a, b: (at_a_time * a + left * b) / batch, total, last)
