"""A layer: its fields, and this layer's copy of what the integrator learns."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from velocity_ledger.integrators import Integrator, Parameter, Per, Splitting
from velocity_ledger.model._attention import Attention, WithValues
from velocity_ledger.model._cached_attention import Past, cached
from velocity_ledger.model._config import ModelConfig
from velocity_ledger.model._keys import PathKeys
from velocity_ledger.model._mlp import MLP
from velocity_ledger.stream import Layer, SubUpdate, bind

FIELDS = {"attention": Attention, "mlp": MLP, "mlp_after": MLP}
"""What a layer can be made of, by the names that splittings know."""


def declared_by(integrator: Integrator, config: ModelConfig) -> dict[str, Parameter]:
    """Return what an integrator learns in a model of this shape."""
    sub_updates = config.layers * len(integrator.splitting.kinds)
    sizes = {
        "vocabulary": config.vocabulary, "context": config.context, "sub_updates": sub_updates,
    }  # fmt: skip
    return {name: p.sized(**sizes) for name, p in integrator.parameters(config.width).items()}


def learned(declared: Mapping[str, Parameter], per: Per, keys: PathKeys) -> Any:
    """Return the integrator parameters of one owner: the model, a layer or a sub-update."""
    own = {name: p for name, p in declared.items() if p.per == per}
    return nnx.Dict({n: nnx.Param(p.initial(keys.at(n).draw())) for n, p in own.items()})


def values(owner: Mapping[str, Any]) -> dict[str, Any]:
    """Return an owner's parameters as arrays."""
    return {name: parameter[...] for name, parameter in owner.items()}


class Block(nnx.Module):
    """One layer of the GPT: its fields; how the stream is integrated is not its business."""

    def __init__(
        self, config: ModelConfig, integrator: Integrator, *, keys: PathKeys, index: Any = 0
    ) -> None:
        pre_norm = integrator.pre_norm
        declared = declared_by(integrator, config)
        for name in integrator.splitting.fields:
            made = FIELDS[name](config, pre_norm=pre_norm, keys=keys.at(name), index=index)
            setattr(self, name, made)
        own = keys.at("integrator")
        self.integrator = nnx.Dict(
            layer=learned(declared, "layer", own.at("layer")),
            **{k: learned(declared, "sub_update", own.at(k)) for k in integrator.splitting.kinds},
        )

    def sub_updates(
        self,
        splitting: Splitting,
        shared: Mapping[str, Any],
        first_values: Any = None,
        past: Past | None = None,
    ) -> Layer:
        """Return the layer as the stream runs it; `shared` is what the whole model learned.

        `first_values` are the first layer's, for attention that mixes them into its own. With a
        `past` the stream is that of new tokens, whose attention looks at earlier ones too.
        """
        layer = {**shared, **values(self.integrator["layer"])}
        own = {name: getattr(self, name) for name in splitting.fields}
        if past is not None and "attention" in own:
            own["attention"] = cached(own["attention"], past, first_values)
        elif first_values is not None:
            own["attention"] = WithValues(own["attention"], first_values)
        fields = splitting.arrange({name: bind(field) for name, field in own.items()})
        return tuple(
            SubUpdate(field, layer | values(self.integrator[kind]), kind)
            for field, kind in zip(fields, splitting.kinds, strict=True)
        )


def stacked(config: ModelConfig, integrator: Integrator, keys: PathKeys) -> Block:
    """Return one block whose weights carry the layers on their first axis.

    They are those of the blocks made one by one at `keys.at(i)`, bit for bit, in the time of one.
    """
    graphs = []

    def state(index: Any) -> Any:
        own = keys.each(config.layers, index)
        graph, state = nnx.split(Block(config, integrator, keys=own, index=index))
        graphs.append(graph)
        return state

    states = jax.vmap(state)(jnp.arange(config.layers))
    return nnx.merge(graphs[0], states)
