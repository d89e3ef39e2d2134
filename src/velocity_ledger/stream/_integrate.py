"""Integrating any list of callables."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jaxtyping import Array, Float

from velocity_ledger.errors import UserError
from velocity_ledger.integrators import Integrator, Parameter
from velocity_ledger.record import Recorder
from velocity_ledger.stream._bind import bind
from velocity_ledger.stream._layers import SubUpdate, run_layers


def integrate(
    fields: Sequence[Callable[..., Any]],
    x: Float[Array, "*batch width"],
    integrator: Integrator,
    *,
    record: Recorder | None = None,
    parameters: Mapping[str, Any] | None = None,
    key: Any = None,
    inputs: Any = None,
    kinds: Sequence[str] | None = None,
) -> tuple[Float[Array, "*batch width"], Any]:
    """Move `x` through a list of fields, each one sub-update, and record its path.

    `fields` are callables `x -> f(x)`, NNX modules among them, that keep the shape of `x`; one
    that takes an argument `key` is handed its own dropout key. `parameters` holds what the
    integrator declares: `[n, *shape]` for what is learned per layer or sub-update, `[*shape]` per
    model; left out, it is as declared. `kinds` says of what kind each field is, for integrators
    that keep a memory of each; left out, all are of one. Returns x_n and what `record` kept (None
    if it is left out).

        x_n, path = integrate([block_1, block_2], x, ledger(mu=0.9), record=PathStatistics())

    Raises `UserError` for parameters that are not those declared and for another number of kinds.
    """
    kinds = ["field"] * len(fields) if kinds is None else kinds
    if len(kinds) != len(fields):
        raise UserError(f"{len(fields)} fields have as many kinds, got {len(kinds)}")
    own = _per_field(integrator, x.shape[-1], len(fields), parameters)
    layers = [(SubUpdate(bind(f), p, kind),) for f, p, kind in zip(fields, own, kinds, strict=True)]
    return run_layers(layers, x, integrator, record=record, key=key, inputs=inputs)


def _per_field(
    integrator: Integrator, width: int, n: int, given: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    declared = integrator.parameters(width)
    if given is not None and set(given) != set(declared):
        names = ", ".join(declared) or "none"
        raise UserError(f"{integrator} declares the parameters {names}; got {', '.join(given)}")
    own: list[dict[str, Any]] = [{} for _ in range(n)]
    for name, unsized in declared.items():
        parameter = unsized.sized(sub_updates=n)
        shared = parameter.per == "model"
        parameter = _sized_like(parameter, given[name]) if given is not None else parameter
        shape = parameter.shape if shared else (n, *parameter.shape)
        if given is None:
            keys = jax.random.split(jax.random.key(0), n)
            values = [parameter.initial(keys[0 if shared else i]) for i in range(n)]
        elif given[name].shape != shape:
            raise UserError(f"parameter {name} has shape {given[name].shape}, not {shape}")
        else:
            values = [given[name] if shared else given[name][i] for i in range(n)]
        for copy, value in zip(own, values, strict=True):
            copy[name] = value
    return own


def _sized_like(parameter: Parameter, given: Any) -> Parameter:
    """Return the parameter with what only a model knows read off a given value."""
    sizes = given.shape[given.ndim - len(parameter.shape) :]
    if len(sizes) != len(parameter.shape):
        return parameter
    return parameter.sized(
        **{n: m for n, m in zip(parameter.shape, sizes, strict=True) if isinstance(n, str)}
    )
