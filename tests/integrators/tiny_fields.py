"""Fields so small that a contract check compiles in a blink."""

import jax
import jax.numpy as jnp
import numpy as np

from velocity_ledger import Field

WIDTH, BATCH, N = 8, 3, 6


def apply(params, x, key):
    """tanh(x W) + b: a bounded field that ends in a sum."""
    del key
    return jnp.tanh(x @ params["w"].astype(x.dtype)) + params["b"].astype(x.dtype)


def weights(seed=0, n=N, width=WIDTH):
    rng = np.random.default_rng(seed)
    return [
        {
            "w": jnp.asarray(rng.normal(size=(width, width)) / width**0.5, jnp.float32),
            "b": jnp.asarray(rng.normal(size=width) * 0.3, jnp.float32),
        }
        for _ in range(n)
    ]


def fields(params):
    return [Field(p, None, apply) for p in params]


def zero_fields(n=N):
    return [jnp.zeros_like] * n


def numpy_fields(params):
    def one(p):
        w, b = np.asarray(p["w"], np.float64), np.asarray(p["b"], np.float64)
        return lambda x: np.tanh(x @ w) + b

    return [one(p) for p in params]


def start(seed=1, width=WIDTH, dtype=jnp.float32):
    return jax.random.normal(jax.random.key(seed), (BATCH, width), dtype)
