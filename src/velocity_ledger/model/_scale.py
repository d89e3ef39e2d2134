"""A learned scale that is stored at another size than it acts at."""

from typing import Any

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float


class Scale(nnx.Module):
    """A learned vector s that starts at `start` and is stored as one that starts at `stored`.

        s = value * start / stored

    An optimizer with steps of a fixed size, as Adam's, moves s by start / stored times as much:
    what is stored changes how fast s learns, not what it is (Loshchilov et al. 2024, arXiv
    2410.01131).
    """

    def __init__(self, shape: tuple[int, ...], *, start: float = 1.0, stored: float) -> None:
        self.factor = start / stored
        self.value = nnx.Param(jnp.full(shape, stored, jnp.float32))

    def __call__(self) -> Float[Array, "..."]:
        value: Any = self.value[...]
        return value * self.factor
