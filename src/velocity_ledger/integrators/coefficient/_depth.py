"""Scalars that change through depth."""

from typing import Any

import jax.numpy as jnp

from velocity_ledger.integrators._contract import Context
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.coefficient._base import Coefficient


class Linear(Coefficient):
    """From `first` at the first sub-update to `last` at the last one, in equal steps.

        s = first + (last - first) k / (n - 1)

    at k = 0..n-1; of one sub-update it is `first`.
    """

    first: Scalar = 0.0
    last: Scalar = 0.9

    def value(self, name: str, x: Any, ctx: Context) -> Any:
        del name, x
        place = jnp.asarray(ctx.index, jnp.float32) / max(ctx.total - 1, 1)
        return self.first + (self.last - self.first) * place


class LedgerGain(Coefficient):
    """The part of block k's output that a ledger has delivered after the last sub-update.

        s = h (1 - mu^(n - k))

    at k = 0..n-1: the damped heavy ball of zero start writes x_n = x_0 + sum_k s_k f_k. As the step
    scale of an Euler it is the ledger's control: the same share of every block, without a memory.
    mu = 0 gives h.
    """

    mu: Scalar = 0.9
    h: Scalar = 1.0

    def value(self, name: str, x: Any, ctx: Context) -> Any:
        del name, x
        left = jnp.asarray(ctx.total - ctx.index, jnp.float32)
        return self.h * (1 - jnp.power(jnp.asarray(self.mu, jnp.float32), left))
