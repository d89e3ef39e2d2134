"""Text from a model, one token after the other."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Int, Int32

from velocity_ledger.errors import UserError
from velocity_ledger.model._apart import tokens_apart
from velocity_ledger.model._cache import chunk_of, empty_cache, extend
from velocity_ledger.model._gpt import GPT

_WAYS = ("exact", "refill")


def generate(
    model: GPT,
    tokens: Int[Array | np.ndarray, "batch time"],
    *,
    length: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    seed: int = 0,
    past: str = "exact",
) -> Int32[np.ndarray, "batch {length}"]:
    """Continue each row of `tokens` by `length` new ones, which are returned.

    Each is drawn from softmax(logits / temperature), restricted to the `top_k` largest logits where
    given; at temperature 0 it is the largest. Dropout is off.

    Inside the context positions count from 0. The prompt is read once, and then one token a step,
    since keys and values of all earlier ones are kept: one entry for every evaluation of every
    attention, 2 x (heads of keys and values) x (size of a head) numbers a token. A velocity, or
    whatever else an integrator remembers, has no place there: its state starts anew at every token,
    and what it is at some depth is made of this token's own column alone. Only attention looks at
    other tokens. Of an integrator that does so too, which is tried here whatever `tokens_apart`
    says, or that evaluates its fields in a program of its own, such as a loop, nothing is kept:
    each token is drawn from the whole window.

    Past the context, `past` says how the window moves on:

        exact     it slides: the last `context` tokens are encoded anew, at positions
                  0..context-1, for every token, as `model(all_tokens[:, -context:])` would
        refill    an approximation: a token more than the context holds leaves its newest half,
                  max(1, context // 2) tokens, which are encoded anew, at positions from 0, and
                  followed by one token a step until the context is full again

    Both agree until then. A token drawn by `refill` sees half of the context at least where an
    exact one sees all of it, and costs little more than a token inside the context.

    What is drawn depends on `seed`, the row and the number of the new token alone, so a longer
    sample begins with the shorter one, and rows do not depend on how many there are. One program
    serves all seeds, temperatures, lengths and prompts of one batch size, and one more draws past
    the context.

    Raises `UserError` for an empty prompt, ids outside the vocabulary, a temperature below 0 or
    not finite, `top_k` below 1, `length` below 0, a seed outside 0..2**32 - 1, and another `past`.
    """
    _check(model, tokens, length, temperature, top_k, seed)
    if past not in _WAYS:
        raise UserError(f"past is one of {', '.join(_WAYS)}, got {past!r}")
    context, vocabulary = model.config.context, model.config.vocabulary
    kept = vocabulary if top_k is None else min(top_k, vocabulary)
    graphdef, state = nnx.split(model)
    apart = model.integrator.tokens_apart and length > 0 and tokens_apart(graphdef, state)
    whole = np.asarray(tokens, np.int32)
    prompt, filled = whole.shape[1], min(whole.shape[1], context)
    while (number := whole.shape[1] - prompt) < length:
        # The next window, and how many tokens can be drawn before it has to move.
        if filled > context:
            filled = context if past == "exact" else max(1, context // 2)
        slides = past == "exact" and filled == context
        count = min(length - number, context if slides else context + 1 - filled)
        window = np.zeros((len(whole), context + 1), np.int32)
        window[:, :filled] = whole[:, -filled:]
        drawn = (_slid if slides else functools.partial(_filled, apart=apart))(
            graphdef,
            state,
            window,
            filled,
            count,
            number,
            jnp.float32(temperature),
            np.uint32(seed),
            kept,
        )
        whole = np.concatenate([whole, np.asarray(drawn)[:, :count]], axis=1)
        filled += count
    return whole[:, prompt:]


@functools.partial(jax.jit, static_argnums=(0, 8), static_argnames="apart")
def _filled(
    graphdef: Any,
    state: Any,
    window: Int[Array, "batch room"],
    filled: Any,
    count: Any,
    number: Any,
    temperature: Any,
    seed: Any,
    kept: int,
    *,
    apart: bool,
) -> Int[Array, "batch room"]:
    """Return the tokens that follow the `filled` ones of a window; of its width, `count` are drawn.

    `number` is that of the first new token. The window has room for one token more than can be
    encoded. Keys and values are kept where tokens are `apart`.
    """
    model: Any = nnx.merge(graphdef, state)
    batch = len(window)
    draw = _draws(batch, temperature, seed, kept)
    chunk = chunk_of(model)
    cache = empty_cache(model, batch) if apart else None

    def read(chunks: Any, cache: Any) -> Any:
        start = chunks * chunk
        some = jax.lax.dynamic_slice_in_dim(padded, start, chunk, 1)
        return extend(model, some, start, cache)[1]

    def logits_at(window: Any, place: Any, cache: Any) -> tuple[Any, Any]:
        if cache is None:
            # What stands to the right of the last token is not seen by it.
            logits = model(window[:, :-1])
            return jax.lax.dynamic_index_in_dim(logits, place, 1, keepdims=False), None
        last = jax.lax.dynamic_slice_in_dim(window, place, 1, 1)
        logits, cache = extend(model, last, place, cache)
        return logits[:, 0], cache

    def advance(i: Any, carry: Any) -> Any:
        window, cache = carry
        place = filled - 1 + i
        logits, cache = logits_at(window, place, cache)
        token = draw(logits, number + i)[:, None]
        return jax.lax.dynamic_update_slice_in_dim(window, token, place + 1, 1), cache

    if cache is not None:
        # The last token is read when the next one is drawn. A chunk that ends behind it also reads
        # what is not there yet, and is overwritten before anything looks at it.
        padded = jnp.pad(window, ((0, 0), (0, chunk)))
        cache = jax.lax.fori_loop(0, (filled + chunk - 2) // chunk, read, cache)
    window, _ = jax.lax.fori_loop(0, count, advance, (window, cache))
    return jnp.roll(window, -filled, axis=1)


@functools.partial(jax.jit, static_argnums=(0, 8))
def _slid(
    graphdef: Any,
    state: Any,
    window: Int[Array, "batch room"],
    filled: Any,
    count: Any,
    number: Any,
    temperature: Any,
    seed: Any,
    kept: int,
) -> Int[Array, "batch room"]:
    """Return the tokens that follow a full window, which slides; `count` of them are drawn."""
    del filled
    model: Any = nnx.merge(graphdef, state)
    draw = _draws(len(window), temperature, seed, kept)

    def advance(i: Any, carry: Any) -> Any:
        window, drawn = carry
        token = draw(model(window[:, :-1])[:, -1], number + i)
        window = jnp.roll(window.at[:, -1].set(token), -1, axis=1)
        return window, drawn.at[:, i].set(token)

    return jax.lax.fori_loop(0, count, advance, (window, jnp.zeros_like(window)))[1]


def _draws(batch: int, temperature: Any, seed: Any, kept: int) -> Callable[[Any, Any], Any]:
    """Return a function of the logits and a token's number that draws this token in each row."""
    rows = jax.vmap(lambda row: jax.random.fold_in(jax.random.key(seed), row))(jnp.arange(batch))

    def draw(logits: Any, number: Any) -> Any:
        keys = jax.vmap(lambda row: jax.random.fold_in(row, number))(rows)
        return jax.vmap(_draw, (0, 0, None, None))(logits, keys, temperature, kept)

    return draw


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
