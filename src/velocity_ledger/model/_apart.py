"""Whether an integrator moves every token by itself, as it says: tried, not believed."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from velocity_ledger.integrators import Field
from velocity_ledger.model._block import declared_by
from velocity_ledger.stream import SubUpdate, run_layers

# To compile for speed would take longer than the few sub-updates.
_QUICKLY: dict[str, Any] = {"xla_backend_optimization_level": 0}


def tokens_apart(graphdef: Any, state: Any) -> bool:
    """Return whether a token's stream changes with no other token, under fields that look at none.

    The integrator, with what it has learned and in a window of its model's size, moves a stream
    through fields that act on each number alone. Then some tokens are changed: the first, the last,
    and half of them. What another token's column ends with must stay, to the bit.
    """
    config = nnx.merge(graphdef, state).config
    random = np.random.default_rng(0)
    x = random.normal(size=(config.context, config.width)).astype(np.float32)
    tokens = random.integers(0, config.vocabulary, config.context)
    changed = np.zeros((4, config.context), bool)
    changed[1, 0] = changed[2, -1] = True
    changed[3] = random.random(config.context) < 0.5
    xs = np.where(changed[..., None], 1 - x, x)
    ids = np.where(changed, (tokens + 1) % config.vocabulary, tokens).astype(np.int32)
    ends = np.asarray(_ends(graphdef, state, xs, ids))
    same = (ends == ends[0]).all(-1)
    return bool((same | changed).all())


@functools.partial(jax.jit, static_argnums=0, compiler_options=_QUICKLY)
def _ends(graphdef: Any, state: Any, xs: Any, ids: Any) -> Any:
    """Return what the head would read of each stream, one after the other in one program."""
    model: Any = nnx.merge(graphdef, state)
    config, integrator = model.config, model.integrator
    cut, depth = integrator.splitting, config.layers
    declared = declared_by(integrator, config)
    numbers = np.random.default_rng(1).normal(size=(len(cut.fields), depth, 2))
    own = {
        name: jnp.broadcast_to(value, (depth, len(cut.kinds), *value.shape))
        if declared[name].per == "model"
        else value.reshape(depth, len(cut.kinds), *value.shape[1:])
        for name, value in model.integrator_parameters().items()
    }

    def layer(at: Any) -> Any:
        fields = {
            name: Field(jnp.asarray(n[at], jnp.float32), None, _each_number)
            for name, n in zip(cut.fields, numbers, strict=True)
        }
        return tuple(
            SubUpdate(field, {name: value[at, i] for name, value in own.items()}, kind)
            for i, (field, kind) in enumerate(zip(cut.arrange(fields), cut.kinds, strict=True))
        )

    layers: Any = layer(slice(None)) if config.scan else [layer(i) for i in range(depth)]

    def end(one: Any) -> Any:
        x, tokens = one
        return run_layers(
            layers, x[None], integrator, scan=config.scan, depth=depth, inputs=tokens[None]
        )[0][0]

    return jax.lax.map(end, (xs, ids))


def _each_number(params: Any, x: Any, key: Any) -> Any:
    del key
    gain, bias = params.astype(x.dtype)
    return gain * jnp.tanh(x) + bias
