"""Weights by name, in one layout for scanned and unrolled models."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from flax import nnx

from velocity_ledger.errors import UserError
from velocity_ledger.model._block import declared_by

if TYPE_CHECKING:
    from velocity_ledger.model._gpt import GPT


def count_parameters(model: nnx.Module) -> int:
    """Return how many numbers a model learns."""
    return sum(int(np.prod(p.shape)) for _, p in nnx.to_flat_state(nnx.state(model, nnx.Param)))


def export_weights(model: "GPT", params: Any = None) -> dict[str, np.ndarray]:
    """Return the weights by portable name."""
    state = nnx.state(model, nnx.Param) if params is None else params
    out: dict[str, np.ndarray] = {}
    for path, variable in nnx.to_flat_state(state):
        value = np.asarray(_value(variable))
        for name, part in _split(path, value, model.config.scan):
            out[name] = np.array(part, order="C")  # ascontiguousarray would give a scalar an axis
    return dict(sorted(out.items()))


def import_weights(model: "GPT", weights: Mapping[str, np.ndarray]) -> None:
    """Set the weights from portable names."""
    state = nnx.state(model, nnx.Param)
    new: dict[tuple[Any, ...], Any] = {}
    wanted: set[str] = set()
    for path, variable in nnx.to_flat_state(state):
        value = _value(variable)
        names = [name for name, _ in _split(path, value, model.config.scan)]
        wanted.update(names)
        missing = [name for name in names if name not in weights]
        if missing:
            raise UserError(f"the weights lack {_some(missing)}")
        parts = [np.asarray(weights[name]) for name in names]
        shape = value.shape[1:] if _stacked(path, model.config.scan) else value.shape
        for name, part in zip(names, parts, strict=True):
            if part.shape != shape:
                raise UserError(f"{name} has shape {part.shape} where the model has {shape}")
        array = np.stack(parts) if _stacked(path, model.config.scan) else parts[0]
        new[path] = jnp.asarray(array, value.dtype)
    extra = [name for name in weights if name not in wanted]
    if extra:
        raise UserError(f"the model has no parameter {_some(extra)}")
    for path, variable in nnx.to_flat_state(state):
        variable.set_value(new[path])
    nnx.update(model, state)


def integrator_parameters(model: "GPT") -> dict[str, Any]:
    """Return the integrator's learned parameters, [n, *shape] over sub-updates."""
    config, integrator = model.config, model.integrator
    kinds = integrator.splitting.kinds
    blocks = [model.blocks] if config.scan else list(model.blocks)
    out: dict[str, Any] = {}
    for name, parameter in declared_by(integrator, config).items():
        if parameter.per == "model":
            out[name] = model.learned[name][...]
            continue
        owners = ("layer",) * len(kinds) if parameter.per == "layer" else kinds
        rows = [[block.integrator[owner][name][...] for owner in owners] for block in blocks]
        # Scanned, the one row is [kinds, layers, ...]; unrolled, the rows are [layers, kinds, ...].
        stacked = jnp.stack([jnp.stack(row, axis=1 if config.scan else 0) for row in rows])
        out[name] = stacked.reshape(config.layers * len(kinds), *parameter.shape)
    return out


def _value(variable: Any) -> Any:
    return variable.get_value() if isinstance(variable, nnx.Variable) else variable


def _stacked(path: tuple[Any, ...], scan: bool) -> bool:
    return scan and path[0] == "blocks"


def _split(path: tuple[Any, ...], value: Any, scan: bool) -> list[tuple[str, Any]]:
    if _stacked(path, scan):
        rest = ".".join(map(str, path[1:]))
        return [(f"blocks.{i}.{rest}", value[i]) for i in range(value.shape[0])]
    return [(".".join(map(str, path)), value)]


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
