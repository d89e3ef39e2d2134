"""Optimizer steps as one compiled program."""

import dataclasses as dc
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from velocity_ledger.errors import UserError
from velocity_ledger.model import fold_in_name
from velocity_ledger.training._gradient import loss_and_gradient, loss_in_pieces
from velocity_ledger.training._leaves import strong


def dropout_root(seed: int) -> jax.Array:
    """The key that a step's number is folded into; there is no generator to save or restore.

    A name is folded in first, so that dropout shares no bits with another use of the seed.
    """
    return fold_in_name(jax.random.key(seed), "dropout")


LONGEST = 128
"""The most steps that one call of the compiled program takes."""


@dc.dataclass(frozen=True)
class Batching:
    """How batches are made: windows of context + 1 tokens, so many, worked on so many at a time.

    The last piece is shorter where `at_a_time` does not divide the batch. Raises `UserError` for
    sizes below 1 and pieces larger than the batch.
    """

    context: int
    batch: int
    at_a_time: int

    def __post_init__(self) -> None:
        if self.context < 1 or not 1 <= self.at_a_time <= self.batch:
            raise UserError(
                f"a batch of {self.batch} windows of {self.context} tokens, {self.at_a_time} at a "
                "time: sizes are at least 1, and a piece is no larger than the batch"
            )


@dc.dataclass(frozen=True)
class Steps:
    """A compiled loop over steps, called as `training_steps` says."""

    compiled: Any

    def __call__(
        self,
        params: Any,
        state: Any,
        rest: Any,
        ids: Any,
        starts: Any,
        root: Any,
        first: Any,
        count: Any,
    ) -> tuple[Any, Any, Any]:
        if not 0 <= int(count) <= LONGEST:
            raise UserError(f"one call takes from 0 to {LONGEST} steps, got {count}")
        return self.compiled(params, state, rest, ids, starts, root, first, count)

    def lower(self, *arguments: Any) -> Any:
        """What `jax.jit` gives to be compiled without being run."""
        return self.compiled.lower(*arguments)


def training_steps(
    graphdef: Any,
    optimizer: optax.GradientTransformation,
    batching: Batching,
    *,
    stacked: bool = False,
) -> Steps:
    """The compiled loop over steps, of every model of this structure under this optimizer.

    Optimizers that share their `update`, and differ in their initial state alone, share it.

    `steps(params, state, rest, ids, starts, root, first, count)` takes `count` steps, at most
    `LONGEST`, and returns the new parameters, the new optimizer state and the mean cross-entropies
    before each update, [LONGEST], of which the first `count` hold. Windows are cut on the device
    out of `ids`, the resident training split, at `starts` [LONGEST, batch]. `params` and `state`
    are donated. The dropout key of a step is `root` with the number of updates before it, `first`
    for the first, folded in. How many steps a call takes changes no bit of the result. More than
    `LONGEST` raise `UserError`, before anything is donated.

    With `stacked` it is the loop of several seeds at once: `params`, `state`, `root` and all that
    is returned are tuples with an entry a seed, `starts` is [seeds, LONGEST, batch]. Windows and
    masks are those of each alone, sums may be rounded otherwise.
    """
    # Line searches and plateau rules read the loss; others ignore it.
    reads_loss = isinstance(optimizer, optax.GradientTransformationExtraArgs)
    return Steps(_compiled(graphdef, optimizer.update, reads_loss, batching, stacked))


@functools.lru_cache(maxsize=16)
def _compiled(
    graphdef: Any, update: Callable[..., Any], reads_loss: bool, batching: Batching, stacked: bool
) -> Callable[..., Any]:

    def step(params: Any, state: Any, rest: Any, tokens: Any, key: Any) -> tuple[Any, Any, Any]:
        loss, gradient = loss_and_gradient(graphdef, params, rest, tokens, key, batching.at_a_time)

        def objective(trial: Any) -> jax.Array:
            return loss_in_pieces(graphdef, trial, rest, tokens, key, batching.at_a_time)

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

    def steps(
        params: Any, state: Any, rest: Any, ids: Any, starts: Any, root: Any, first: Any, count: Any
    ) -> tuple[Any, Any, Any]:
        within = jnp.arange(batching.context + 1)

        def one(i: Any, carry: Any) -> Any:
            params, state, losses = carry
            tokens = ids[starts[i][:, None] + within].astype(jnp.int32)
            key = jax.random.fold_in(root, first + i.astype(jnp.uint32))
            params, state, loss = step(params, state, rest, tokens, key)
            return params, state, losses.at[i].set(loss.astype(losses.dtype))

        losses = jnp.full(LONGEST, jnp.nan, jnp.float32)
        return jax.lax.fori_loop(0, count, one, (params, state, losses))

    return jax.jit(_of_all(steps) if stacked else steps, donate_argnums=(0, 1))


def _of_all(steps: Callable[..., Any]) -> Callable[..., Any]:
    """The loop over steps for a tuple of seeds, stacked for the length of a call."""

    def of_all(
        params: Any, state: Any, rest: Any, ids: Any, starts: Any, root: Any, first: Any, count: Any
    ) -> tuple[Any, ...]:
        each = jax.vmap(steps, in_axes=(0, 0, None, None, 0, 0, None, None))
        params, state, root = (_stack(trees) for trees in (params, state, root))
        found = each(params, state, rest, ids, starts, root, first, count)
        return tuple(_apart(tree, len(starts)) for tree in found)

    return of_all


def _stack(trees: Any) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _apart(tree: Any, count: int) -> tuple[Any, ...]:
    return tuple(jax.tree.map(lambda leaf, i=i: leaf[i], tree) for i in range(count))
