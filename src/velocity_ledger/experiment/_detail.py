"""All that is known of a variant."""

import dataclasses as dc
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from velocity_ledger import integrators
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._describe import describe
from velocity_ledger.experiment._variants import Variant, reductions_of, variants_of
from velocity_ledger.integrators import (
    Coefficient,
    Composition,
    Context,
    Integrator,
    Parameter,
    Reduction,
    Value,
)
from velocity_ledger.model import declared_by
from velocity_ledger.telemetry import impulse_response

MOST = 64
"""A response is worked out for as many sub-updates as the model has, up to this."""

_COSTS = ("parameters", "flops_per_step", "memory_bytes")


def describe_in_full(config: ExperimentConfig) -> list[dict[str, Any]]:
    """Return, for each variant, what `describe` says, its equation, and what it does to a push.

    More than there: `equation` and `tex` (lines; see `velocity_ledger.integrators.equation`),
    `learned_parameters` (shape, owner, copies, how many numbers, where they start as the equation
    has them, a text where they differ, None where they are drawn), `reductions` (setting of the
    arguments, what it then equals, to what tolerance and why, whether `evaluated` only, and whether
    of `one_kind`: where a layer takes turns it does not hold, or not to the bit), `against_plain`
    (parameters more than plain's, FLOPs and memory over plain's), `family` and `impulse_response`
    (`gain` and `path`; `linear` where they do not depend on the state; see
    `velocity_ledger.telemetry`).

    Raises `UserError` as `describe` does.
    """
    (plain,) = describe(dc.replace(config, variants=("plain",)))
    rows = describe(config)
    variants = variants_of(config.variants)
    return [
        row | _more(variant, config, row, plain)
        for variant, row in zip(variants, rows, strict=True)
    ]


def _more(
    variant: Variant, config: ExperimentConfig, row: Mapping[str, Any], plain: Mapping[str, Any]
) -> dict[str, Any]:
    integrator = variant.integrator
    said = integrators.equation(integrator)
    parameters, *costs = ((row[name], plain[name]) for name in _COSTS)
    against: dict[str, float] = {"parameters": parameters[0] - parameters[1]}
    against |= {name: own / other for name, (own, other) in zip(_COSTS[1:], costs, strict=True)}
    n = min(row["sub_updates"], MOST)
    return {
        "family": integrators.family(integrator),
        "equation": said.text(),
        "tex": said.tex(),
        "learned_parameters": learned(integrator, config),
        "reductions": [
            dc.asdict(reduction) | {"one_kind": of_one_kind(variant.form, reduction)}
            for reduction in reductions_of(variant)
        ],
        "against_plain": against,
        "impulse_response": response(integrator, n),
    }


def of_one_kind(form: str, reduction: Reduction) -> bool:
    """Whether what is declared of a text form holds only for fields of one kind.

    Another splitting, or a memory for each kind, makes another model of attention and MLP.
    """
    base = form.partition("(")[0].strip()
    edge = integrators.parse(f"{base}({reduction.setting})")
    other = integrators.parse(reduction.to)
    return edge.splitting != other.splitting or _apart(edge) != _apart(other)


def _apart(integrator: Integrator) -> bool:
    return isinstance(integrator, Composition) and integrator.momentum.per_kind


def response(integrator: Integrator, n: int) -> dict[str, Any]:
    """Return gains, path and whether they are those of any state."""
    gain, elsewhere = impulse_response(integrator, n, at=(1.0, 0.5))
    return {
        "gain": [float(g) for g in gain],
        "path": [float(p) for p in impulse_response(integrator, n, kind="path")],
        "linear": bool(np.allclose(gain, elsewhere, rtol=1e-4, atol=1e-6)),
    }


def learned(integrator: Integrator, config: ExperimentConfig) -> list[dict[str, Any]]:
    """Return what an integrator learns in a model: shapes, owners, numbers, initial values."""
    layers = config.model.layers
    copies = {"model": 1, "layer": layers, "sub_update": layers * len(integrator.splitting.kinds)}
    rules = dict(_coefficients(integrator))
    found = []
    for name, parameter in declared_by(integrator, config.model).items():
        shape: list[Any] = list(parameter.shape)  # sized, so numbers alone
        found.append(
            {
                "name": name,
                "shape": shape,
                "per": parameter.per,
                "copies": copies[parameter.per],
                "numbers": copies[parameter.per] * parameter.size,
                "starts": _start(name, parameter, rules),
            }
        )
    return found


def _start(name: str, parameter: Parameter, rules: Mapping[str, Coefficient]) -> float | str | None:
    """What an equation begins with, behind a link where there is one: a number, or a few."""
    if callable(parameter.init) and _reads_its_key(parameter):
        return None
    raw = parameter.initial(jax.random.key(0))
    if name in rules:
        raw = jnp.asarray(rules[name].value(name, jnp.zeros(1), Context(0, {name: raw})))
    values = np.unique(np.asarray(raw))
    return float(f"{values[0]:.6g}") if len(values) == 1 else _listed(values)


def _reads_its_key(parameter: Parameter) -> bool:
    traced = jax.make_jaxpr(parameter.initial)(jax.random.key(0)).jaxpr
    return any(traced.invars[0] is read for equation in traced.eqns for read in equation.invars)


def _listed(values: np.ndarray) -> str:
    return " and ".join(f"{value:g}" for value in values)


def _coefficients(value: Value) -> list[tuple[str, Coefficient]]:
    found: list[tuple[str, Coefficient]] = []
    for field in dc.fields(value):  # pyright: ignore[reportArgumentType]
        item = getattr(value, field.name)
        if isinstance(item, Coefficient):
            found.append((field.name, item))
        elif isinstance(item, Value):
            found += _coefficients(item)
    return found
