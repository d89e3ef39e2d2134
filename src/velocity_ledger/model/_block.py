"""A layer: its fields, and this layer's copy of what the integrator learns."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from velocity_ledger.integrators import Integrator, Parameter
from velocity_ledger.integrators._contract import Per
from velocity_ledger.model._config import ModelConfig
from velocity_ledger.model._fields import MLP, Attention
from velocity_ledger.model._keys import PathKeys
from velocity_ledger.stream import Layer, SubUpdate, bind

KINDS = ("attention", "mlp")
"""A layer's sub-updates, in order."""


class Learned(nnx.Module):
    """Integrator parameters of one owner (the model, a layer or a sub-update), by name."""

    def __init__(self, declared: Mapping[str, Parameter], per: Per, keys: PathKeys) -> None:
        self.names = tuple(name for name, p in declared.items() if p.per == per)
        for name in self.names:
            setattr(self, name, nnx.Param(declared[name].initial(keys.at(name).draw())))

    def values(self) -> dict[str, Any]:
        """Return the parameters as arrays."""
        return {name: getattr(self, name)[...] for name in self.names}


class Block(nnx.Module):
    """One layer of the GPT: its fields; how the stream is integrated is not its business."""

    def __init__(self, config: ModelConfig, integrator: Integrator, *, keys: PathKeys) -> None:
        pre_norm = integrator.pre_norm
        declared = integrator.parameters(config.width)
        self.attention = Attention(config, pre_norm=pre_norm, keys=keys.at("attention"))
        self.mlp = MLP(config, pre_norm=pre_norm, keys=keys.at("mlp"))
        own = keys.at("integrator")
        self.integrator = nnx.Dict(
            layer=Learned(declared, "layer", own.at("layer")),
            **{k: Learned(declared, "sub_update", own.at(k)) for k in KINDS},
        )

    def sub_updates(self, shared: Mapping[str, Any]) -> Layer:
        """Return the layer as the stream runs it; `shared` is what the whole model learned."""
        layer = {**shared, **self.integrator["layer"].values()}
        return tuple(
            SubUpdate(bind(getattr(self, k)), layer | self.integrator[k].values(), k) for k in KINDS
        )


def stack(blocks: list[Block]) -> Block:
    """Return one block whose weights carry the layers on their first axis."""
    graph, first = nnx.split(blocks[0])
    states = [first, *(nnx.state(block) for block in blocks[1:])]
    return nnx.merge(graph, jax.tree.map(lambda *leaves: jnp.stack(leaves), *states))
