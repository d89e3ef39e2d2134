"""One optimizer step as one compiled program."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from velocity_ledger.model import fold_in_name
from velocity_ledger.training._validation import token_losses


def dropout_root(seed: int) -> jax.Array:
    """The key that a step's number is folded into; there is no generator to save or restore.

    A name is folded in first, so that dropout shares no bits with another use of the seed.
    """
    return fold_in_name(jax.random.key(seed), "dropout")


def strong(tree: Any) -> Any:
    """Give every leaf a definite type: a weakly typed one would be compiled for twice."""

    def one(leaf: Any) -> Any:
        array = jnp.asarray(leaf)
        if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
            return array
        return jnp.asarray(array, dtype=array.dtype)

    return jax.tree.map(one, tree)


def placed(tree: Any) -> Any:
    """Copy every leaf to its own place, so that donating it touches nobody else's array.

    Restored arrays are bound to their device; fresh ones must be too, or the two would not run
    the same program.
    """
    return jax.tree.map(lambda leaf: jax.device_put(jnp.copy(leaf), leaf.sharding), tree)


@jax.jit
def all_finite(tree: Any) -> jax.Array:
    """Whether no floating leaf holds a NaN or an infinity."""
    floating = [x for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.inexact)]
    return jnp.all(jnp.array([jnp.all(jnp.isfinite(x)) for x in floating] or [True]))


def training_step(
    graphdef: Any, optimizer: optax.GradientTransformation
) -> Callable[..., tuple[Any, Any, jax.Array]]:
    """The compiled step of every model of this structure under this optimizer.

    Optimizers that share their `update`, and differ in their initial state alone, share it.

    `step(params, state, rest, tokens, root, index)` returns the new parameters, the new optimizer
    state and the mean cross-entropy before the update. `params` and `state` are donated. The
    dropout key is `root` with `index`, the number of updates so far, folded in.
    """
    # Line searches and plateau rules read the loss; others ignore it.
    reads_loss = isinstance(optimizer, optax.GradientTransformationExtraArgs)
    return _compiled(graphdef, optimizer.update, reads_loss)


@functools.lru_cache(maxsize=16)
def _compiled(
    graphdef: Any, update: Callable[..., Any], reads_loss: bool
) -> Callable[..., tuple[Any, Any, jax.Array]]:

    def step(
        params: Any, state: Any, rest: Any, tokens: Any, root: Any, index: Any
    ) -> tuple[Any, Any, Any]:
        key = jax.random.fold_in(root, index)

        def objective(trial: Any) -> jax.Array:
            model: Any = nnx.merge(graphdef, trial, rest)
            return jnp.mean(token_losses(model(tokens[:, :-1], key=key), tokens[:, 1:]))

        loss, gradient = jax.value_and_grad(objective)(params)
        extra = {"value": loss, "grad": gradient, "value_fn": objective} if reads_loss else {}
        updates, state = update(gradient, state, params, **extra)
        params = optax.apply_updates(params, updates)
        model: Any = nnx.merge(graphdef, params, rest)
        # A model that has none of its own leaves it to its integrator.
        owner = model if hasattr(model, "project") else getattr(model, "integrator", None)
        project = getattr(owner, "project", None)
        if project is not None:
            params = project(params)
        return params, strong(state), loss

    return jax.jit(step, donate_argnums=(0, 1))
