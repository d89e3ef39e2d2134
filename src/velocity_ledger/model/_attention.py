"""The attention field: normalisation and causal attention."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from velocity_ledger.integrators import retract
from velocity_ledger.model._causal import causal
from velocity_ledger.model._config import ModelConfig, Precision
from velocity_ledger.model._dropout import dropout, kept
from velocity_ledger.model._keys import PathKeys
from velocity_ledger.model._linear import linear, together
from velocity_ledger.model._norm import Constant, factor, norm, read
from velocity_ledger.model._rotary import rotate
from velocity_ledger.model._scale import Scale

WEIGHTS, OUTPUT = 0, 1
"""What a field's key is folded with."""


class Attention(nnx.Module):
    """Causal multi-head attention of the normalised stream: f(x) = Attn(norm x).

        q, k, v = y W_q, y W_k, y W_v         y = norm x, or x without `pre_norm`
        v = (v_1 + v) / 2                     value_residual, v_1 the first layer's
        q, k = rotate(q), rotate(k)           positions "rope"
        q, k = s q/|q|, s k/|k|               qk_norm, s learned, shared by both, one a head
        f = softmax(c q k^T) v W_o            c = size^-1/2, with qk_norm size^+1/2

    With fewer heads of keys and values, groups of heads share one (Ainslie et al. 2023, arXiv
    2305.13245). Mixing of values: Zhou et al. 2024, arXiv 2410.17897, the released code; scaled
    unit queries and keys: Loshchilov et al. 2024, arXiv 2410.01131. Dropout on the attention
    weights and the output where a key is given.
    """

    def __init__(
        self, config: ModelConfig, *, pre_norm: bool, keys: PathKeys, index: Any = 0
    ) -> None:
        width, kept = config.width, config.key_heads * config.head_size
        self.heads = config.heads
        self.key_heads = config.key_heads
        self.rate = config.dropout
        self.share = config.share_attention_dropout
        self.precision: Precision = config.precision
        self.rope = config.positions == "rope"
        self.norm = norm(config, keys.at("norm")) if pre_norm else None
        self.factor: Constant | None = factor(config, index)
        self.query = linear(config, width, width, keys.at("query"))
        self.key = linear(config, width, kept, keys.at("key"))
        self.value = linear(config, width, kept, keys.at("value"))
        self.out = linear(config, width, width, keys.at("out"), last=True)
        self.qk_scale = (
            Scale((config.heads, config.head_size), stored=width**-0.5) if config.qk_norm else None
        )

    def values(self, x: Float[Array, "batch time width"]) -> Float[Array, "batch time kept"]:
        """Return the values that are read of a stream, before anything is mixed into them."""
        y = read(self.norm, self.factor, x).reshape(-1, x.shape[-1])
        return self.value(y).reshape(*x.shape[:2], -1)

    @jax.named_scope("attention")
    def __call__(
        self,
        x: Float[Array, "batch time width"],
        *,
        key: Any = None,
        first_values: Float[Array, "batch time kept"] | None = None,
    ) -> Float[Array, "batch time width"]:
        batch, time, width = x.shape
        # Two axes and heads first: both are faster forms of the same products on a CPU.
        y = read(self.norm, self.factor, x).reshape(batch * time, width)

        def split(z: Float[Array, "tokens kept"], heads: int) -> Float[Array, "b heads time size"]:
            z = z.reshape(batch, time, heads, -1).swapaxes(1, 2)
            return z if heads == self.heads else jnp.repeat(z, self.heads // heads, axis=1)

        queries, keys, values = together([self.query, self.key, self.value], y)
        if first_values is not None:
            values = 0.5 * first_values.reshape(values.shape) + 0.5 * values
        q, k = split(queries, self.heads), split(keys, self.key_heads)
        v = split(values, self.key_heads)
        if self.rope:
            q, k = rotate(q), rotate(k)
        size = q.shape[-1]
        if self.qk_scale is None:
            q = q * size**-0.5
        else:
            scale = self.qk_scale()[:, None, :].astype(q.dtype)
            q, k = scale * retract(q, 1.0) * size**0.5, scale * retract(k, 1.0)
        mask = None
        if key is not None and self.rate:
            mask = self._kept(jax.random.fold_in(key, WEIGHTS), batch, time)
        mixed = causal(q, k, v, mask=mask, rate=self.rate, precision=self.precision)
        out = self.out(mixed.swapaxes(1, 2).reshape(batch * time, width)).reshape(x.shape)
        return out if key is None else dropout(out, self.rate, jax.random.fold_in(key, OUTPUT))

    def _kept(self, key: Any, batch: int, time: int) -> Any:
        """Which attention weights dropout spares, for all heads and sequences or for each."""
        if not self.share:
            return kept(key, self.rate, (batch, self.heads, time, time))
        # Drawn once, not anew in every product that it meets.
        return jax.lax.optimization_barrier(kept(key, self.rate, (1, 1, time, time), shared=True))


class WithValues(nnx.Module):
    """An attention that is handed the first layer's values."""

    def __init__(
        self, attention: Attention, first_values: Float[Array, "*depth batch time kept"]
    ) -> None:
        self.attention = attention
        self.first_values = Constant(first_values)

    def __call__(
        self, x: Float[Array, "batch time width"], *, key: Any = None
    ) -> Float[Array, "batch time width"]:
        return self.attention(x, key=key, first_values=self.first_values[...])
