"""The norm that a field reads the stream through, or none."""

from typing import Any

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from velocity_ledger.model._config import ModelConfig
from velocity_ledger.model._keys import PathKeys


class Constant(nnx.Variable):
    """A number of the model that nothing learns and no file keeps."""


def norm(config: ModelConfig, keys: PathKeys) -> Any:
    """Return a LayerNorm or RMSNorm of the stream, as the configuration says.

        layer   scale (x - mean x) / sqrt(var x + 1e-6) + bias
        rms     scale x / sqrt(mean x^2 + 1e-6)

    (Ba et al. 2016, arXiv 1607.06450; Zhang & Sennrich 2019, arXiv 1910.07467.)
    """
    if config.norm == "rms":
        return nnx.RMSNorm(config.width, rngs=keys.rngs())
    return nnx.LayerNorm(config.width, use_bias=config.bias, rngs=keys.rngs())


def factor(config: ModelConfig, index: Any) -> Constant | None:
    """Return LayerNorm scaling's 1/sqrt(l) of the layer l = index + 1, None where it is off.

    (Sun et al. 2025, arXiv 2502.05795: both norms of a block, not the final one.) A variable, so
    that layers stacked for a scan carry their own; `index` may be traced.
    """
    if not config.norm_scaling:
        return None
    factors = [layer**-0.5 for layer in range(1, config.layers + 1)]
    return Constant(jnp.asarray(factors, jnp.float32)[index])


def read(
    norm: Any, factor: Constant | None, x: Float[Array, "*batch width"]
) -> Float[Array, "*batch width"]:
    """Return what a field reads of the stream."""
    y = x if norm is None else norm(x)
    return y if factor is None else y * factor[...].astype(y.dtype)
