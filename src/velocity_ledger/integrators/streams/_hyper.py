"""Several parallel streams, read, written and mixed by learned weights."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import (
    Context,
    Field,
    Info,
    Integrator,
    Parameter,
    scalar,
)
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.splitting import LieTrotter, Splitting
from velocity_ledger.integrators.streams._connection import Connection, wide
from velocity_ledger.integrators.streams._static import Static


class HyperConnections(Integrator):
    """n streams instead of one; a connection says how a field reads and writes them.

        f = field(sum_i read_i H_i)
        H_i' = sum_j mix_ij H_j + h write_i f

    The streams start as n copies of the embedding. The position whose path is measured, and which
    the head reads, is their mean: at the start of the plain connections it moves as the plain
    block's does. The papers sum the streams at the end; the norm before the head does not see the
    factor n, but for its epsilon. Zhu et al. also divide the initial output projections by sqrt(n),
    which belongs to the fields: for n = 4, `hyper-connections with model.output_gain=0.5`. Of Xie
    et al. no such division could be confirmed.

    Sources: Zhu et al. 2024, arXiv 2409.19606; Xie et al. 2025, arXiv 2512.24880.
    Raises `UserError` for what is no connection or no splitting.
    """

    connection: Connection = Static()
    h: Scalar = 1.0
    splitting: Splitting = LieTrotter()  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    def __post_init__(self) -> None:
        for name, kind in (("connection", Connection), ("splitting", Splitting)):
            if not isinstance(getattr(self, name), kind):
                raise UserError(f"{name} is a {kind.__name__}, got {getattr(self, name)!r}")

    @property
    def rests(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A mean of copies is the copy, to the bit, where their number is a power of two."""
        return self.connection.streams.bit_count() == 1

    def parameters(self, width: int) -> dict[str, Parameter]:
        return self.connection.parameters(width)

    def init(self, x0: Array, ctx: Context) -> tuple[Any, Any]:
        del ctx
        return jnp.broadcast_to(x0, (self.connection.streams, *x0.shape)), ()

    def step(self, field: Field, stream: Any, state: Any, ctx: Context) -> tuple[Any, Any, Info]:
        read, write, mix = self.connection.weights(stream, ctx)
        before = wide(stream)
        f = field(_sum("...i,i...d->...d", read, before).astype(stream.dtype))
        push = scalar(self.h, before) * _sum("...i,...d->i...d", write, wide(f))
        after = (self.connection.mixed(mix, before) + push).astype(stream.dtype)
        step = self.position(after) - self.position(stream)
        proposed = jnp.mean(push, 0).astype(f.dtype)
        return after, state, Info(increment=f, raw_step=proposed, step=step)

    def position(self, stream: Any) -> Array:
        return jnp.mean(stream, 0)


def _sum(subscripts: str, a: Any, b: Any) -> Any:
    return jnp.einsum(subscripts, a, b, precision="highest")
