"""The recorded depth path of a model on a probe batch, reduced where the states are."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Int

from velocity_ledger.errors import UserError
from velocity_ledger.record import PathStatistics, StepGram, Together
from velocity_ledger.telemetry._dataset import GRAMS


@functools.partial(jax.jit, static_argnums=0)
def _recorded(
    graphdef: Any, state: Any, tokens: Int[Array, "parts windows time"]
) -> dict[str, Float[Array, "..."]]:
    """One program per model structure; the logits are not returned, so the head is not run."""
    model: Any = nnx.merge(graphdef, state)

    def part(some: Int[Array, "windows time"]) -> dict[str, Float[Array, "..."]]:
        _, recorded = model(some, record=Together(PathStatistics(), StepGram()))
        return recorded

    # One after the other: the steps of one part are held at a time.
    return jax.lax.map(part, tokens)


def measure(
    model: nnx.Module,
    tokens: Int[Array, "windows time"] | Int[np.ndarray, "windows time"],
    *,
    windows_at_once: int = 1,
) -> dict[str, np.ndarray]:
    """Statistics of every token's depth path, dropout off, as float32 on the host.

    `model(tokens, record=...)` must return `(logits, recorded)` for any recorder, as `GPT` does.
    The result holds what `PathStatistics` records as [sub-updates, tokens] or [tokens], tokens
    window after window, and what `StepGram` records as [sub-updates, sub-updates], means over
    tokens. All is reduced inside one compiled function, which models of one structure share:
    nothing of the stream's width leaves the device.

    The windows go through the model in parts, one after the other, of no more than
    `windows_at_once` and all of one size. A Gram matrix needs all steps of a token at once, so a
    part holds two copies of its stream a sub-update: one window at a time takes the least memory.
    `make bench BENCH="--only telemetry"` sets it beside a forward pass and all windows at once.

    Raises `UserError` for an empty probe batch and for `windows_at_once` below 1.
    """
    if not np.size(tokens):
        raise UserError(f"a probe needs at least one token, got shape {np.shape(tokens)}")
    if windows_at_once < 1:
        raise UserError(f"windows_at_once must be at least 1, got {windows_at_once}")
    windows = len(tokens)
    # Parts of one size: another would be another program.
    at_once = max(n for n in range(1, min(windows, windows_at_once) + 1) if windows % n == 0)
    graphdef, state = nnx.split(model)
    parts = jnp.asarray(tokens, jnp.int32).reshape(windows // at_once, at_once, -1)
    recorded = jax.device_get(_recorded(graphdef, state, parts))
    return {name: _joined(name, value) for name, value in recorded.items()}


def _joined(name: str, parts: Float[np.ndarray, "parts ..."]) -> Float[np.ndarray, "..."]:
    """What the parts of a probe batch say of the whole."""
    if name in GRAMS:
        return parts.mean(0, dtype=np.float64).astype(np.float32)
    whole = np.moveaxis(parts, 0, -3)  # [parts, *sub_updates, windows, time] before
    return np.ascontiguousarray(whole).reshape(*whole.shape[:-3], -1)
