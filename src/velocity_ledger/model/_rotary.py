"""Rotary positions."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

BASE = 10_000.0
"""The slowest pair turns by about 1/BASE of a radian a token."""


def rotate(
    x: Float[Array, "*batch time size"], base: float = BASE, start: Int[Array, ""] | int = 0
) -> Float[Array, "*batch time size"]:
    """Turn each pair of dimensions (i, i + size/2) of position t by an angle, from t = `start` on.

        angle = t base^(-2 i / size),  i = 0 .. size/2 - 1
        (a, b) -> (a cos - b sin, b cos + a sin)

    The product of a turned query and a turned key depends on the difference of their positions
    alone (RoPE, Su et al. 2021, arXiv 2104.09864, who pair neighbours: a permutation of each head's
    dimensions, which a learned projection absorbs). Angles are float32; x keeps its dtype.
    """
    time, size = x.shape[-2:]
    rate = base ** (-jnp.arange(size // 2, dtype=jnp.float32) * 2.0 / size)
    angle = (start + jnp.arange(time)).astype(jnp.float32)[:, None] * rate
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    a, b = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1).astype(x.dtype)
