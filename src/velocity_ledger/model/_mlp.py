"""The MLP field: normalisation and MLP."""

from typing import Any

import jax
from flax import nnx
from jaxtyping import Array, Float

from velocity_ledger.model._attention import OUTPUT
from velocity_ledger.model._config import ModelConfig
from velocity_ledger.model._dropout import dropout
from velocity_ledger.model._keys import PathKeys
from velocity_ledger.model._linear import linear
from velocity_ledger.model._norm import Constant, factor, norm, read
from velocity_ledger.model._scale import Scale


class MLP(nnx.Module):
    """Linear maps around an activation, of the normalised stream: f(x) = MLP(norm x).

        gelu      gelu(u) W_down              u = y W_up, the tanh form
        swiglu    (u * silu(g)) W_down        g = y W_gate (Shazeer 2020, arXiv 2002.05202)

    y = norm x, or x without `pre_norm`. With `hidden_scale` u and g are s sqrt(width) times as
    large, each with a learned s of its own that starts at 1 (Loshchilov et al. 2024, arXiv
    2410.01131). Dropout on the output where a key is given.
    """

    def __init__(
        self, config: ModelConfig, *, pre_norm: bool, keys: PathKeys, index: Any = 0
    ) -> None:
        width, hidden = config.width, config.hidden
        gated, scaled = config.activation == "swiglu", config.hidden_scale

        def scale() -> Scale:
            return Scale((hidden,), start=width**0.5, stored=1.0)

        self.rate = config.dropout
        self.norm = norm(config, keys.at("norm")) if pre_norm else None
        self.factor: Constant | None = factor(config, index)
        self.up = linear(config, width, hidden, keys.at("up"))
        self.gate = linear(config, width, hidden, keys.at("gate")) if gated else None
        self.down = linear(config, hidden, width, keys.at("down"), last=True)
        self.up_scale = scale() if scaled else None
        self.gate_scale = scale() if scaled and gated else None

    @jax.named_scope("mlp")
    def __call__(
        self, x: Float[Array, "batch time width"], *, key: Any = None
    ) -> Float[Array, "batch time width"]:
        y = read(self.norm, self.factor, x).reshape(-1, x.shape[-1])
        u = _scaled(self.up(y), self.up_scale)
        if self.gate is None:
            hidden = jax.nn.gelu(u)
        else:
            hidden = u * jax.nn.silu(_scaled(self.gate(y), self.gate_scale))
        out = self.down(hidden).reshape(x.shape)
        return out if key is None else dropout(out, self.rate, jax.random.fold_in(key, OUTPUT))


def _scaled(u: Float[Array, "tokens hidden"], scale: Scale | None) -> Float[Array, "tokens hidden"]:
    return u if scale is None else u * scale().astype(u.dtype)
