"""The lone products in JAX: XLA's, whatever program it compiles."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import products
from benchmarks.shape import Shape


class Products(products.Products):
    """XLA's lone products."""

    def __init__(self, shape: dict[str, Any], precision: str = "fp32") -> None:
        super().__init__(Shape(**shape))
        self.kind = jnp.bfloat16 if precision == "bf16" else jnp.float32
        self.compiled = jax.jit(jnp.matmul)

    def array(self, values: np.ndarray) -> Any:
        return jnp.asarray(values, self.kind)

    def product(self, a: Any, b: Any) -> None:
        self.compiled(a, b).block_until_ready()

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "device": jax.devices()[0].device_kind}
