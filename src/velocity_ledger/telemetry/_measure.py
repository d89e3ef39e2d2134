"""The recorded depth path of a model on a probe batch, reduced where the states are."""

import functools
from collections.abc import Sequence
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
    graphdef: Any, state: Any, tokens: Int[Array, "windows time"]
) -> dict[str, Float[Array, "..."]]:
    """One program per model structure; the logits are not returned, so the head is not run."""
    model: Any = nnx.merge(graphdef, state)
    _, recorded = model(tokens, record=Together(PathStatistics(), StepGram()))
    return recorded


def measure(
    model: nnx.Module,
    tokens: Int[Array, "windows time"] | Int[np.ndarray, "windows time"],
    *,
    windows_at_once: int = 8,
) -> dict[str, np.ndarray]:
    """Statistics of every token's depth path, dropout off, as float32 on the host.

    `model(tokens, record=...)` must return `(logits, recorded)` for any recorder, as `GPT` does.
    The result holds what `PathStatistics` records as [sub-updates, tokens] or [tokens], tokens
    window after window, and what `StepGram` records as [sub-updates, sub-updates], means over
    tokens. All is reduced inside one compiled function, which models of one structure share:
    nothing of the stream's width leaves the device. `windows_at_once` bounds the memory of a large
    probe batch.

    Raises `UserError` for an empty probe batch and for `windows_at_once` below 1.
    """
    if not np.size(tokens):
        raise UserError(f"a probe needs at least one token, got shape {np.shape(tokens)}")
    if windows_at_once < 1:
        raise UserError(f"windows_at_once must be at least 1, got {windows_at_once}")
    graphdef, state = nnx.split(model)
    parts = []
    starts = range(0, len(tokens), windows_at_once)
    for start in starts:
        part = jnp.asarray(tokens[start : start + windows_at_once], jnp.int32)
        parts.append(jax.device_get(_recorded(graphdef, state, part)))
    sizes = [len(tokens[start : start + windows_at_once]) for start in starts]
    return {name: _joined(name, [part[name] for part in parts], sizes) for name in parts[0]}


def _joined(name: str, parts: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    """What the parts of a probe batch, of so many windows, say of the whole."""
    if name in GRAMS:
        return np.average(parts, axis=0, weights=sizes).astype(np.float32)
    whole = np.concatenate(parts, -2)
    return whole.reshape(*whole.shape[:-2], -1)
