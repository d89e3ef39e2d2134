"""What only a model shows: that no logit sees a token to come."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from velocity_ledger.contract import _programs
from velocity_ledger.contract._finding import require
from velocity_ledger.contract._subject import Subject, key
from velocity_ledger.model import GPT, ModelConfig

_CONFIG = ModelConfig(
    layers=_programs.N // 2,  # as many sub-updates as elsewhere, so that a table fits
    width=_programs.WIDTH,
    heads=2,
    hidden=_programs.WIDTH,
    context=_programs.TIME,
    vocabulary=_programs.VOCABULARY,
    scan=True,
)


def no_token_sees_the_next(subject: Subject) -> None:
    """In a GPT no token changes a logit before it, nor another sample's, to the bit."""
    graph, params, rest = nnx.split(GPT(_CONFIG, subject.integrator, rngs=0), nnx.Param, ...)
    params = _off(params)
    before = np.asarray(_logits(graph, params, rest, _programs.TOKENS, key()))
    require(np.all(np.isfinite(before)), "a logit is not finite")
    for j in (1, _programs.TIME - 1):
        tokens = np.array(_programs.TOKENS)
        tokens[0, j] = (tokens[0, j] + 1) % _programs.VOCABULARY
        after = np.asarray(_logits(graph, params, rest, tokens, key()))
        require(np.array_equal(before[0, :j], after[0, :j]), f"token {j} changes a logit before it")
        require(np.array_equal(before[1:], after[1:]), "a token changes another sample's logits")
        require(np.any(before[0, j] != after[0, j]), f"token {j} does not change its own logit")


@functools.partial(jax.jit, static_argnums=0, compiler_options=_programs.QUICKLY)
def _logits(graph: Any, params: Any, rest: Any, tokens: Any, key: Any) -> Any:
    return nnx.merge(graph, params, rest)(tokens, key=key)


def _off(params: Any) -> Any:
    """Weights off their start: one that starts at 0 would hide what it multiplies."""
    rng = np.random.default_rng(4)
    return jax.tree.map(lambda w: w + 0.1 * jnp.asarray(rng.normal(size=w.shape), w.dtype), params)
