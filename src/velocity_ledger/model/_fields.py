"""The fields of a layer: normalisation and attention, normalisation and MLP."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from velocity_ledger.model._config import ModelConfig
from velocity_ledger.model._dropout import dropout
from velocity_ledger.model._keys import PathKeys

_WEIGHTS, _OUTPUT = 0, 1  # what a field's key is folded with


class Attention(nnx.Module):
    """Causal multi-head attention of the normalised stream: f(x) = Attn(norm x).

    Without `pre_norm` it reads the stream as it is. Biases on, no normalisation of queries and
    keys; dropout on the attention weights and the output where a key is given.
    """

    def __init__(self, config: ModelConfig, *, pre_norm: bool, keys: PathKeys) -> None:
        width = config.width
        self.heads = config.heads
        self.rate = config.dropout
        self.share = config.share_attention_dropout
        self.norm = nnx.LayerNorm(width, rngs=keys.at("norm").rngs()) if pre_norm else None
        self.query = nnx.Linear(width, width, rngs=keys.at("query").rngs())
        self.key = nnx.Linear(width, width, rngs=keys.at("key").rngs())
        self.value = nnx.Linear(width, width, rngs=keys.at("value").rngs())
        self.out = nnx.Linear(width, width, rngs=keys.at("out").rngs())

    @jax.named_scope("attention")
    def __call__(
        self, x: Float[Array, "batch time width"], *, key: Any = None
    ) -> Float[Array, "batch time width"]:
        batch, time, width = x.shape
        # Two axes and heads first: both are faster forms of the same products on a CPU.
        y = (x if self.norm is None else self.norm(x)).reshape(batch * time, width)

        def split(z: Float[Array, "tokens width"]) -> Float[Array, "batch heads time head"]:
            return z.reshape(batch, time, self.heads, -1).swapaxes(1, 2)

        q, k, v = split(self.query(y)), split(self.key(y)), split(self.value(y))
        scores = jnp.einsum("bhqd,bhkd->bhqk", q * q.shape[-1] ** -0.5, k)
        causal = jnp.tril(jnp.ones((time, time), bool))
        weights = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1)
        if key is not None:
            mask = (1, 1, time, time) if self.share else weights.shape
            weights = dropout(weights, self.rate, jax.random.fold_in(key, _WEIGHTS), mask)
        mixed = jnp.einsum("bhqk,bhkd->bhqd", weights, v)
        out = self.out(mixed.swapaxes(1, 2).reshape(batch * time, width)).reshape(x.shape)
        return out if key is None else dropout(out, self.rate, jax.random.fold_in(key, _OUTPUT))


class MLP(nnx.Module):
    """Two linear maps around GELU (tanh form) of the normalised stream: f(x) = MLP(norm x).

    Without `pre_norm` it reads the stream as it is. Dropout on the output where a key is given.
    """

    def __init__(self, config: ModelConfig, *, pre_norm: bool, keys: PathKeys) -> None:
        width = config.width
        self.rate = config.dropout
        self.norm = nnx.LayerNorm(width, rngs=keys.at("norm").rngs()) if pre_norm else None
        self.up = nnx.Linear(width, config.hidden, rngs=keys.at("up").rngs())
        self.down = nnx.Linear(config.hidden, width, rngs=keys.at("down").rngs())

    @jax.named_scope("mlp")
    def __call__(
        self, x: Float[Array, "batch time width"], *, key: Any = None
    ) -> Float[Array, "batch time width"]:
        y = (x if self.norm is None else self.norm(x)).reshape(-1, x.shape[-1])
        out = self.down(jax.nn.gelu(self.up(y))).reshape(x.shape)
        return out if key is None else dropout(out, self.rate, jax.random.fold_in(key, _OUTPUT))
