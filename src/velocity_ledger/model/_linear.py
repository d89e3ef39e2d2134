"""Linear maps with the initial values that the configuration asks for."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float

from velocity_ledger.machine import platform
from velocity_ledger.model._config import ModelConfig, Precision
from velocity_ledger.model._keys import PathKeys
from velocity_ledger.model._product import product


class Linear(nnx.Linear):
    """y = x W + b, with the gradient of a tall W in the form that is quick on a CPU.

    The gradient of W, [inputs, outputs], is a product over all tokens. With more inputs than
    outputs XLA's CPU products are faster for that of the transposed map. Of a few tokens, as in
    sampling, to transpose it would cost more than the product.
    """

    computed_in: Precision = "fp32"

    def __call__(
        self, inputs: Float[Array, "*tokens inputs"], out_sharding: Any = None
    ) -> Float[Array, "*tokens outputs"]:
        del out_sharding
        kernel, flat = self.kernel[...], inputs.reshape(-1, inputs.shape[-1])
        tall = len(flat) > kernel.shape[1] < kernel.shape[0]
        if tall and self.computed_in != "bf16" and platform() == "cpu":
            # The fence keeps the compiler from undoing it.
            across = jax.lax.optimization_barrier(kernel.T)
            y = product("ti,oi->to", flat, across, self.computed_in)
        else:
            y = product("ti,io->to", flat, kernel, self.computed_in)
        y = y.reshape(*inputs.shape[:-1], -1)
        return y if self.bias is None else y + self.bias[...]


def together(
    maps: Sequence[Any], inputs: Float[Array, "tokens inputs"]
) -> list[Float[Array, "tokens outputs"]]:
    """Apply several maps to the same inputs, as one product: quicker than one after the other.

    Whatever else stands in the place of one is called.
    """
    own = any(type(m) is not Linear for m in maps)
    if own or len({(m.computed_in, m.bias is None) for m in maps}) > 1:
        return [m(inputs) for m in maps]
    kernel = jnp.concatenate([m.kernel[...] for m in maps], 1)
    y = product("ti,io->to", inputs, kernel, maps[0].computed_in)
    biases = [m.bias[...] for m in maps if m.bias is not None]
    if biases:
        y = y + jnp.concatenate(biases)
    return jnp.split(y, np.cumsum([m.out_features for m in maps])[:-1], axis=1)


def linear(
    config: ModelConfig,
    inputs: int,
    outputs: int,
    keys: PathKeys,
    *,
    last: bool = False,
    bias: bool | None = None,
) -> Linear:
    """Return a linear map; `last` says that its output is a field's.

    With `init="width"` its kernel is normal of std 1/sqrt(width) whatever its inputs are, else
    lecun-normal. With `scaled_init` the kernel of a field's last map is what it else would be,
    divided by sqrt(2 layers) (Radford et al. 2019), and in any case times `output_gain`.
    """
    usual = (
        jax.nn.initializers.normal(config.width**-0.5)
        if config.init == "width"
        else jax.nn.initializers.lecun_normal()
    )

    gain = config.output_gain * (config.sub_updates**-0.5 if config.scaled_init else 1.0)

    def scaled(key: Any, shape: Any, dtype: Any) -> Any:
        return usual(key, shape, dtype) * jnp.asarray(gain, dtype)

    made = Linear(
        inputs,
        outputs,
        use_bias=config.bias if bias is None else bias,
        kernel_init=scaled if last and gain != 1 else usual,
        rngs=keys.rngs(),
    )
    made.computed_in = config.precision
    return made
