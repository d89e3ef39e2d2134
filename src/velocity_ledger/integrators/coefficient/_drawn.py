"""Scalars drawn at random: once for all, or anew for every sample."""

from typing import Any

import jax
import jax.numpy as jnp

from velocity_ledger.integrators._contract import Context
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.coefficient._base import Coefficient


class Drawn(Coefficient):
    """One fixed random number a sub-update: +-`centre`, its size spread evenly by `spread`.

        s = sign (centre + spread u)    sign = +-1 and -1 < u < 1, drawn once and for all

    It is the same in training and evaluation, from `seed` and k alone. Its mean over draws is 0, as
    "midpoint (a)" asks (Gal et al. 2025, arXiv 2512.02056, equation 3.6, which gives no
    distribution; +-1 with a spread of 1/2 is the reading of a public re-implementation).
    """

    centre: Scalar = 1.0
    spread: Scalar = 0.5
    seed: int = 0

    def value(self, name: str, x: Any, ctx: Context) -> Any:
        del name, x
        sign, size = jax.random.split(jax.random.fold_in(jax.random.key(self.seed), ctx.index))
        wide = jax.random.uniform(size, (), minval=-1.0, maxval=1.0)
        return jax.random.rademacher(sign, (), jnp.float32) * (self.centre + self.spread * wide)


class Signs(Coefficient):
    """+-`size` with equal chance, drawn for every sample and sub-update; 0 where nothing is drawn.

        s = size sign                   sign = +-1 in training; 0 in evaluation and at k = 0

    One draw serves all tokens and dimensions of a sample (the first axis of the stream). Without a
    key, as in evaluation, and at the first sub-update it is 0 (BDIA, arXiv 2407.09093, where
    gamma = -s).
    """

    size: Scalar = 0.5

    def value(self, name: str, x: Any, ctx: Context) -> Any:
        del name
        shape = (x.shape[0], *(1,) * (x.ndim - 1)) if x.ndim > 1 else (1,)
        if ctx.key is None:
            return jnp.zeros(shape, jnp.float32)
        drawn = self.size * jax.random.rademacher(ctx.key, shape, jnp.float32)
        return jnp.where(jnp.asarray(ctx.index) == 0, 0.0, drawn)
