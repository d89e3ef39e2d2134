"""What training a variant needs of memory, estimated without computing."""

import dataclasses as dc
from typing import Any

import jax
import jax.numpy as jnp

from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.integrators import Context, Integrator
from velocity_ledger.model import ModelConfig, declared_by
from velocity_ledger.stream import bind
from velocity_ledger.training import microbatch

MEMORY = (
    "4 bytes * (5 P + [P] + windows * context * (layers * E * (A (a D + 3 H T) + M (b D + m F)) "
    "+ S K + 2 D + 3 V)): weights, gradient, two moments of AdamW and the best weights so far, and "
    "what the backward pass keeps of every field and of every sub-update for the windows that are "
    "worked on at a time, where they are not the whole batch with one more sum of gradients; P "
    "parameters, D width, F "
    "hidden, H heads, T context, V vocabulary; A attentions and M MLPs a layer, each evaluated E "
    "times; S sub-updates, of each of which the integrator's own step keeps K numbers a token, "
    "those of its velocity, streams or earlier outputs that its derivative reads; a = 11, with "
    "qk_norm 4 more, with value_residual 1 more; b = 5; m = 3, with swiglu 5, with hidden_scale 1 "
    "more for each matrix that reads the stream; a and b 1 less where fields have no norm"
)


def memory_bytes(parameters: int, integrator: Integrator, config: ExperimentConfig) -> int:
    """Return the bytes that training needs, as `MEMORY` says."""
    m, splitting = config.model, integrator.splitting
    gated, norm = m.activation == "swiglu", bool(integrator.pre_norm)
    a = 10 + norm + 4 * m.qk_norm + m.value_residual
    f = 3 + 2 * gated + (1 + gated) * m.hidden_scale
    attention = a * m.width + 3 * m.heads * m.context
    mlp = (4 + norm) * m.width + f * m.hidden
    layer = sum(attention if kind == "attention" else mlp for kind in splitting.evaluated)
    kept = m.layers * len(splitting.kinds) * kept_per_token(integrator, m)
    token = m.layers * integrator.evaluations * layer + kept + 2 * m.width + 3 * m.vocabulary
    batch = config.training.batch
    windows = microbatch(config.training.microbatch, batch, m.context)
    return 4 * ((5 + (windows < batch)) * parameters + windows * m.context * token)


_TOKENS = 10_007
"""A prime that is no other size: what is as large as a multiple of it is there for every token."""


def kept_per_token(integrator: Integrator, config: ModelConfig) -> int:
    """Return how many numbers a token a step keeps for its derivative, beside its field's own.

    Counted on the trace of the second sub-update's derivative, for a field that keeps nothing. A
    step that is linear in all that is learned keeps nothing, whatever it remembers.
    """
    declared = declared_by(integrator, config)
    kinds = tuple(integrator.splitting.kinds)
    total = config.layers * len(kinds)
    count = 0

    def trace(x: Any, tokens: Any, own: Any) -> None:
        nonlocal count
        key = jax.random.key(0)
        ctx = Context(1, own, key, tokens, total, kinds[0], tuple(dict.fromkeys(kinds)), 0)
        leaves, structure = jax.tree.flatten((*integrator.init(x, ctx), own))
        moving = [k for k, leaf in enumerate(leaves) if _moves(leaf)]

        def step(*moved: Any) -> list[Any]:
            given = dict(zip(moving, moved, strict=True))
            all_ = [given.get(k, leaf) for k, leaf in enumerate(leaves)]
            stream, state, mine = structure.unflatten(all_)
            stream, state, _ = integrator.step(
                bind(_halve), stream, state, dc.replace(ctx, parameters=mine)
            )
            return [leaf for leaf in jax.tree.leaves((stream, state)) if _moves(leaf)]

        _, back = jax.vjp(step, *[leaves[k] for k in moving])
        # One array that is read twice is kept once.
        kept = {id(leaf): leaf.size for leaf in jax.tree.leaves(back)}.values()
        count = sum(size // _TOKENS for size in kept if size % _TOKENS == 0)

    jax.eval_shape(
        trace,
        jax.ShapeDtypeStruct((_TOKENS, 1, config.width), jnp.float32),
        jax.ShapeDtypeStruct((_TOKENS, 1), jnp.int32),
        {name: jax.ShapeDtypeStruct(p.shape, jnp.float32) for name, p in declared.items()},
    )
    return count


def _halve(z: Any) -> Any:
    return 0.5 * z


def _moves(leaf: Any) -> bool:
    return jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)
