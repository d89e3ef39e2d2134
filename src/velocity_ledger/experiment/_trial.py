"""A variant tried on shapes alone: its mistakes show before anything trains."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from velocity_ledger.errors import UserError
from velocity_ledger.experiment._variants import Variant
from velocity_ledger.integrators import Context, Info, Integrator, Parameter
from velocity_ledger.model import GPT, ModelConfig, declared_by
from velocity_ledger.record import PathStatistics
from velocity_ledger.stream import bind

_BATCH, _TIME, _STEPS = 2, 3, 2


class _BreachError(Exception):
    """What of the contract an integrator breaks."""


def try_variant(variant: Variant, config: ModelConfig) -> None:
    """Trace a variant's sub-updates and the forward pass of its model, recorded.

    Raises `UserError` for an integrator that does not run, or breaks its contract: a state of
    fixed structure and dtypes, a stream of fixed shape and dtype, an `Info` of the stream's shape.
    """
    try:
        _try_steps(variant.integrator, config)
        model = nnx.eval_shape(lambda: GPT(config, variant.integrator, rngs=0))
        graphdef, state = nnx.split(model)
        tokens = jax.ShapeDtypeStruct((1, config.context), jnp.int32)
        jax.eval_shape(
            lambda s, t: nnx.merge(graphdef, s)(t, record=PathStatistics()), state, tokens
        )
    except _BreachError as breach:
        raise UserError(f"{variant.text} is no integrator: {breach}; {_mend(variant)}") from breach
    except (Exception, SystemExit) as error:
        if variant.file is None:
            raise
        reason = first_line(error)
        raise UserError(f"{variant.text} does not run ({reason}): {_mend(variant)}") from error


def first_line(error: BaseException) -> str:
    """Return an exception's type and the first line of its text."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


def _mend(variant: Variant) -> str:
    return f"mend {variant.file or 'it'}"


def _try_steps(integrator: Integrator, config: ModelConfig) -> None:
    x = jax.ShapeDtypeStruct((_BATCH, _TIME, config.width), jnp.float32)
    declared = declared_by(integrator, config)
    tokens = jax.ShapeDtypeStruct((_BATCH, _TIME), jnp.int32)
    total = config.layers * len(integrator.splitting.kinds)
    # Training draws, measuring does not.
    for draws in (True, False):
        key = jax.random.key(0) if draws else None
        jax.eval_shape(
            lambda x, t, key=key: _steps(integrator, declared, x, t, key, total), x, tokens
        )


def _steps(
    integrator: Integrator,
    declared: Mapping[str, Parameter],
    x: Float[Array, "batch time width"],
    tokens: Array,
    key: Any,
    total: int,
) -> Any:
    own = {name: p.initial(jax.random.key(0)) for name, p in declared.items()}
    field = bind(lambda z: 0.5 * z)
    stream, state = integrator.init(x, Context(0, own, key, tokens, total))
    for index in range(_STEPS):
        found = integrator.step(field, stream, state, Context(index, own, key, tokens, total))
        if not isinstance(found, tuple) or len(found) != 3:
            raise _BreachError("step must return the stream, the state and an Info")
        new, after, info = found
        _check_same("state", state, after)
        _check_same("stream", stream, new)
        _check_array("the position", integrator.position(new), x)
        if not isinstance(info, Info):
            raise _BreachError(f"step returns {type(info).__name__} where an Info belongs")
        for name in ("increment", "raw_step", "step", "velocity"):
            value = getattr(info, name)
            if name != "velocity" or value is not None:
                _check_array(f"Info's {name}", value, x)
        stream, state = new, after
    return integrator.readout(stream, state, Context(total, own, key, tokens, total))


def _check_same(what: str, before: Any, after: Any) -> None:
    first, second = jax.tree.structure(before), jax.tree.structure(after)
    if first != second:
        raise _BreachError(f"step changes the structure of the {what} from {first} to {second}")
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        old, new = _form(a), _form(b)
        if old != new:
            raise _BreachError(f"step changes the {what} from {old} to {new}")


def _check_array(what: str, value: Any, x: Array) -> None:
    if value is None or jnp.shape(value) != x.shape:
        shape = "None" if value is None else f"shape {jnp.shape(value)}"
        raise _BreachError(f"{what} has {shape}, not the stream's {x.shape}")
    if not jnp.issubdtype(jnp.result_type(value), jnp.floating):
        raise _BreachError(f"{what} is {jnp.result_type(value)}, not a floating type")


def _form(leaf: Any) -> str:
    return f"{jnp.result_type(leaf)}{list(jnp.shape(leaf))}"
