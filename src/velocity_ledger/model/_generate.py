"""Text from a model, one token after the other."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Int, Int32

from velocity_ledger.errors import UserError
from velocity_ledger.model._gpt import GPT


def generate(
    model: GPT,
    tokens: Int[Array | np.ndarray, "batch time"],
    *,
    length: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    seed: int = 0,
) -> Int32[np.ndarray, "batch {length}"]:
    """Continue each row of `tokens` by `length` new ones, which are returned.

    Each is drawn from softmax(logits / temperature), restricted to the `top_k` largest logits where
    given; at temperature 0 it is the largest. Dropout is off. Inside the context, positions count
    from 0; past it the window slides exactly: the last `context` tokens are encoded anew, at
    positions 0..context-1, for every token, as `model(all_tokens[:, -context:])` would.

    What is drawn depends on `seed`, the row and the number of the new token alone, so a longer
    sample begins with the shorter one, and rows do not depend on how many there are. One program
    serves all seeds, temperatures and prompts of one batch size.

    Raises `UserError` for an empty prompt, ids outside the vocabulary, a temperature below 0 or
    not finite, `top_k` below 1, `length` below 0, and a seed outside 0..2**32 - 1.
    """
    _check(model, tokens, length, temperature, top_k, seed)
    context, vocabulary = model.config.context, model.config.vocabulary
    prompt = np.asarray(tokens, np.int32)[:, -context:]
    window = np.zeros((len(prompt), context), np.int32)
    window[:, : prompt.shape[1]] = prompt
    kept = vocabulary if top_k is None else min(top_k, vocabulary)
    graphdef, state = nnx.split(model)
    drawn = _generated(
        graphdef,
        state,
        window,
        prompt.shape[1],
        jnp.float32(temperature),
        np.uint32(seed),
        length,
        kept,
    )
    return np.asarray(drawn, np.int32)


@functools.partial(jax.jit, static_argnums=(0, 6, 7))
def _generated(
    graphdef: Any,
    state: Any,
    window: Int[Array, "batch context"],
    filled: Any,
    temperature: Any,
    seed: Any,
    length: int,
    kept: int,
) -> Int[Array, "batch {length}"]:
    model: Any = nnx.merge(graphdef, state)
    batch, context = window.shape
    rows = jax.vmap(lambda row: jax.random.fold_in(jax.random.key(seed), row))(jnp.arange(batch))

    def advance(carry: Any, number: Any) -> tuple[Any, Any]:
        window, filled = carry
        # What stands to the right of the last token is not seen by it.
        logits = jax.lax.dynamic_index_in_dim(model(window), filled - 1, 1, keepdims=False)
        keys = jax.vmap(lambda row: jax.random.fold_in(row, number))(rows)
        token = jax.vmap(_draw, (0, 0, None, None))(logits, keys, temperature, kept)
        full = filled == context
        slid = jnp.where(full, jnp.roll(window, -1, axis=1), window)
        place = jnp.where(full, context - 1, filled)
        window = jax.lax.dynamic_update_index_in_dim(slid, token[:, None], place, 1)
        return (window, jnp.minimum(filled + 1, context)), token

    start = (window, jnp.asarray(filled, jnp.int32))
    _, drawn = jax.lax.scan(advance, start, jnp.arange(length))
    return drawn.T.reshape(batch, length)


def _draw(logits: Float[Array, " vocabulary"], key: Any, temperature: Any, kept: int) -> Any:
    # Sorted, so that exactly so many stay where logits are equal.
    values, ids = jax.lax.top_k(logits.astype(jnp.float32), kept)
    scaled = values / jnp.where(temperature > 0, temperature, 1.0)
    place = jnp.where(temperature > 0, jax.random.categorical(key, scaled), 0)
    return ids[place].astype(jnp.int32)


def _check(
    model: GPT, tokens: Any, length: int, temperature: float, top_k: int | None, seed: int
) -> None:
    if np.ndim(tokens) != 2 or 0 in np.shape(tokens):
        raise UserError(
            f"a prompt needs at least one token a row, [batch, time], got shape {np.shape(tokens)}"
        )
    low, high = int(np.min(tokens)), int(np.max(tokens))
    if low < 0 or high >= model.config.vocabulary:
        raise UserError(
            f"token ids must lie in 0..{model.config.vocabulary - 1}, got {low} to {high}"
        )
    if length < 0:
        raise UserError(f"length must not be negative, got {length}")
    if not 0.0 <= temperature < float("inf"):
        raise UserError(f"temperature must be 0 or above, and finite, got {temperature}")
    if top_k is not None and top_k < 1:
        raise UserError(f"top_k must be at least 1, got {top_k}")
    if not 0 <= seed < 2**32:
        raise UserError(f"a seed is a whole number from 0 to 2**32 - 1, got {seed}")
