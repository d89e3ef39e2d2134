"""Scalars that change through depth."""

from typing import Any

import jax.numpy as jnp

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.coefficient._base import Coefficient, contracts, vanishes


class _Ramp(Coefficient):
    """From one number to another, never past either."""

    first: Scalar = 0.0
    last: Scalar = 0.9

    @property
    def vanishes(self) -> bool:
        """Whether zero is met on the way."""
        return vanishes(self.first) or vanishes(self.last) or bool(self.first * self.last < 0)

    @property
    def contracts(self) -> bool:
        return contracts(self.first) and contracts(self.last)

    def held(self, value: float) -> "_Ramp":
        return self.replace(first=value, last=value)


class Linear(_Ramp):
    """From `first` at the first sub-update to `last` at the last one, in equal steps.

        s = first + (last - first) k / (n - 1)

    at k = 0..n-1; of one sub-update it is `first`.
    """

    def value(self, name: str, x: Any, ctx: Context) -> Any:
        del name, x
        return self.first + (self.last - self.first) * _place(ctx)


class Cosine(_Ramp):
    """From `first` at the first sub-update to `last` at the last one, along half a cosine.

    s_k = last + (first - last) (1 + cos(pi k / (n - 1))) / 2, k = 0..n-1; of one sub-update it is
    `first`.
    """

    def value(self, name: str, x: Any, ctx: Context) -> Any:
        del name, x
        return self.last + (self.first - self.last) * 0.5 * (1 + jnp.cos(jnp.pi * _place(ctx)))


class Table(Coefficient):
    """One number a sub-update, as given: s_k = values[k].

    Raises `UserError` for an empty table, and, where it is run, for another number of sub-updates.
    """

    values: tuple[Scalar, ...] = ()

    def __post_init__(self) -> None:
        if not self.values:
            raise UserError("a table needs a number for every sub-update: table((0.5, 0.9, ...))")

    def value(self, name: str, x: Any, ctx: Context) -> Any:
        del name, x
        if len(self.values) != ctx.total:
            raise UserError(
                f"a table of {len(self.values)} numbers does not fit {ctx.total} sub-updates:"
                f" give {ctx.total} numbers"
            )
        return jnp.stack([jnp.asarray(v, jnp.float32) for v in self.values])[ctx.index]

    @property
    def vanishes(self) -> bool:
        return any(map(vanishes, self.values))

    @property
    def contracts(self) -> bool:
        return all(map(contracts, self.values))

    def held(self, value: float) -> "Table":
        return self.replace(values=(value,) * len(self.values))


class LedgerGain(Coefficient):
    """The part of block k's output that a ledger has delivered after the last sub-update.

        s = h (1 - mu^(n - k))              damped and not debias
        s = h (1 - mu^(n - k)) / (1 - mu)   not damped

    at k = 0..n-1; debiased, it is h (1 - mu) times the sum of mu^(j-k) / (1 - mu^(j+1)) over
    j = k..n-1.

    The heavy ball of zero start writes x_n = x_0 + sum_k s_k f_k. As the step scale of an Euler it
    is the ledger's control: the same share of every block, without a memory. mu = 0 gives h; not
    damped, mu = 1 gives h (n - k). (Counted from 1, the damped gain is 1 - mu^(n-k+1). The share
    that a block writes in its own sub-update is h (1 - mu): `plain(h=...)` is that control.)

    Raises `UserError` as the heavy ball does for `debias`.
    """

    mu: Scalar = 0.9
    h: Scalar = 1.0
    damped: bool = True
    debias: bool = False

    def __post_init__(self) -> None:
        if self.debias and not self.damped:
            raise UserError("debias corrects an average: it needs damped=True")
        if self.debias and isinstance(self.mu, (int, float)) and abs(self.mu) >= 1:
            raise UserError(f"debias divides by 1 - mu^k: it needs |mu| < 1, got {self.mu}")

    def value(self, name: str, x: Any, ctx: Context) -> Any:
        del name, x
        mu = jnp.asarray(self.mu, jnp.float32)
        if self.damped and not self.debias:
            left = jnp.asarray(ctx.total - ctx.index, jnp.float32)
            return self.h * (1 - jnp.power(mu, left))
        # One term for every sub-update that still carries the block: exact at mu = 0 and 1 too.
        j = jnp.arange(ctx.total)
        carried = jnp.where(j < ctx.index, 0.0, jnp.power(mu, jnp.maximum(j - ctx.index, 0)))
        if self.debias:
            carried = (1 - mu) * carried / (1 - jnp.power(mu, j + 1))
        return self.h * jnp.sum(carried)


def _place(ctx: Context) -> Any:
    return jnp.asarray(ctx.index, jnp.float32) / max(ctx.total - 1, 1)
