"""Validation loss: the same tokens for every variant, dropout off, weighted by tokens."""

import dataclasses as dc
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jaxtyping import Array, Bool, Float, Int

from velocity_ledger.corpus import windows
from velocity_ledger.errors import UserError
from velocity_ledger.training._config import TrainingConfig
from velocity_ledger.training._pieces import mapped, microbatch

FIRST_SEED = 900_001
"""Seed of the first fixed batch, batch i has FIRST_SEED + i: never the training seed."""


@dc.dataclass(frozen=True)
class ValidationBatches:
    """Batches of one shape, and which of their predictions count.

    A window of context + 1 tokens holds `context` predictions: token t + 1 from tokens up to t.
    Of a batch `at_a_time` windows are worked on at a time, None for all.
    """

    tokens: Int[np.ndarray, "batches batch window"]
    counted: Bool[np.ndarray, "batches batch context"]
    at_a_time: int | None = None

    @property
    def predictions(self) -> int:
        """Number of predictions that count."""
        return int(self.counted.sum())


def validation_batches(
    val_ids: Int[np.ndarray, " length"], config: TrainingConfig, context: int
) -> ValidationBatches:
    """Return `val_batches` fixed batches, or the whole split where that is 0.

    The whole split is cut into windows that do not overlap, so every token but the first is
    predicted once; the last window and the last batch are filled up and masked.

    They are worked on in pieces of as many windows as training takes at a time. The loss is that of
    whole batches up to rounding: products of matrices with fewer rows are summed in another order.

    Raises `UserError` where the split is too short.
    """
    least = context + 1 if config.val_batches else 2
    if len(val_ids) < least:
        raise UserError(
            f"the validation split holds {len(val_ids)} tokens, {least} are needed: "
            "choose a longer text or a shorter context"
        )
    if config.val_batches:
        seeds = range(FIRST_SEED, FIRST_SEED + config.val_batches)
        drawn = [
            windows(val_ids, batch=config.batch, context=context, seed=seed, step=0)
            for seed in seeds
        ]
        tokens = np.stack(drawn).astype(np.int32)
        size = microbatch(config.microbatch, config.batch, context)
        return ValidationBatches(tokens, np.ones((*tokens.shape[:2], context), bool), size)
    predictions = len(val_ids) - 1
    count = -(-predictions // context)
    batch = min(config.batch, count)
    batches = -(-count // batch)
    total = batches * batch * context
    padded = np.zeros(total + 1, np.int32)
    padded[: len(val_ids)] = val_ids
    starts = np.arange(0, total, context)
    tokens = padded[starts[:, None] + np.arange(context + 1)]
    counted = np.arange(total) < predictions
    return ValidationBatches(
        tokens.reshape(batches, batch, context + 1),
        counted.reshape(batches, batch, context),
        microbatch(config.microbatch, batch, context),
    )


def token_losses(
    logits: Float[Array, "batch time vocabulary"], targets: Int[Array, "batch time"]
) -> Float[Array, "batch time"]:
    """Cross-entropy of every prediction in nats, in float32 or wider."""
    wide = jnp.promote_types(logits.dtype, jnp.float32)
    return optax.softmax_cross_entropy_with_integer_labels(logits.astype(wide), targets)


@functools.partial(jax.jit, static_argnums=(0, 4))
def _losses(
    graphdef: Any, params: Any, rest: Any, tokens: Int[Array, "batch window"], at_a_time: int
) -> Float[Array, "batch context"]:
    def of(part: Any) -> jax.Array:
        model: Any = nnx.merge(graphdef, params, rest)
        return token_losses(model(part[:, :-1]), part[:, 1:])

    return mapped(of, tokens, at_a_time)


def mean_loss(graphdef: Any, params: Any, rest: Any, batches: ValidationBatches) -> float:
    """`evaluate` for a model already split into structure, parameters and the rest."""
    size = batches.at_a_time or batches.tokens.shape[1]
    pending = [
        _losses(graphdef, params, rest, jnp.asarray(tokens), size) for tokens in batches.tokens
    ]
    total = sum(
        float(np.sum(np.asarray(losses), where=counted, dtype=np.float64))
        for losses, counted in zip(pending, batches.counted, strict=True)
    )
    return total / batches.predictions


def evaluate(model: nnx.Module, batches: ValidationBatches, params: Any = None) -> float:
    """Mean cross-entropy in nats a token, dropout off.

    The sum over all counted predictions divided by their number, in float64: no mean of batch
    means. `params`, a state or mapping as `Run.best`, takes the place of the model's own
    parameters.
    """
    graphdef, own, rest = nnx.split(model, nnx.Param, ...)
    return mean_loss(graphdef, own if params is None else params, rest, batches)
