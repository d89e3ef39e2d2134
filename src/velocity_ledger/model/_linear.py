"""Linear maps with the initial values that the configuration asks for."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from velocity_ledger.model._config import ModelConfig
from velocity_ledger.model._keys import PathKeys


def linear(
    config: ModelConfig,
    inputs: int,
    outputs: int,
    keys: PathKeys,
    *,
    last: bool = False,
    bias: bool | None = None,
) -> nnx.Linear:
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

    return nnx.Linear(
        inputs,
        outputs,
        use_bias=config.bias if bias is None else bias,
        kernel_init=scaled if last and gain != 1 else usual,
        rngs=keys.rngs(),
    )
