"""The norm that velocities and directions are read through."""

from typing import Any

import jax
import jax.numpy as jnp

_EPSILON = 1e-5


def layer_norm(v: Any, gain: Any) -> Any:
    """Return a LayerNorm over the width without bias, computed in float32 at least."""
    z = v.astype(jnp.promote_types(v.dtype, jnp.float32))
    z = z - jnp.mean(z, -1, keepdims=True)
    z = z * jax.lax.rsqrt(jnp.mean(z * z, -1, keepdims=True) + _EPSILON)
    return (z * gain).astype(v.dtype)
