"""Norms and angles in float32 that neither overflow nor lose small vectors."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def split_norm(
    x: Float[Array, "*batch width"],
) -> tuple[Float[Array, "*batch"], Float[Array, "*batch width"]]:
    """Return the length |x| and the direction x / |x| (zero for the zero vector), in float32."""
    z = x.astype(jnp.float32)
    largest = jnp.max(jnp.abs(z), axis=-1, keepdims=True)
    unit = z / jnp.where(largest > 0, largest, 1.0)
    norm = jnp.sqrt(jnp.sum(unit * unit, axis=-1, keepdims=True))
    direction = unit / jnp.where(norm > 0, norm, 1.0)
    return (largest * norm)[..., 0], direction


def angle(
    a: Float[Array, "*batch width"], b: Float[Array, "*batch width"]
) -> Float[Array, "*batch"]:
    """Return the angle between two directions in degrees, exact near 0 and 180.

    For unit vectors it is 2 atan2(|a - b|, |a + b|) (Kahan), where an arccos of the cosine loses
    half of the digits.
    """
    # Entries of directions are at most 1, so their squares need no care.
    apart = jnp.sqrt(jnp.sum((a - b) ** 2, -1))
    together = jnp.sqrt(jnp.sum((a + b) ** 2, -1))
    return jnp.degrees(2 * jnp.arctan2(apart, together))
