"""How several streams are read, written and mixed."""

from typing import Any, NamedTuple

import jax.numpy as jnp

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Parameter
from velocity_ledger.integrators._value import Value


class Weights(NamedTuple):
    """Weights of one sub-update over n streams, in float32 at least.

    `read` [*batch, n]: the field reads sum_i read_i H_i. `write` [*batch, n]: what it gives is
    added to stream i write_i times. `mix` [*batch, n, n]: stream i becomes sum_j mix_ij H_j. Where
    they are one for all tokens the batch is left out.
    """

    read: Any
    write: Any
    mix: Any


class Connection(Value):
    """How a sub-update's field is connected to `streams` parallel streams."""

    streams: int = 4

    def __post_init__(self) -> None:
        if self.streams < 1:
            raise UserError(f"there is at least one stream, got {self.streams}")

    def parameters(self, width: int) -> dict[str, Parameter]:
        """Declare what is learned, by name."""
        raise NotImplementedError(f"{type(self).__name__} must define parameters")

    def weights(self, streams: Any, ctx: Context) -> Weights:
        """Return the weights at a sub-update; `streams` is [n, *batch, width]."""
        raise NotImplementedError(f"{type(self).__name__} must define weights")

    def mixed(self, mix: Any, streams: Any) -> Any:
        """Return sum_j mix_ij H_j for every i."""
        return jnp.einsum("...ij,j...d->i...d", mix, streams, precision="highest")


def turn(streams: int, index: Any) -> Any:
    """Return e_(k mod n): which stream the field of sub-update k reads to begin with."""
    return (jnp.arange(streams) == jnp.asarray(index) % streams).astype(jnp.float32)


def wide(x: Any) -> Any:
    """Return an array in float32 at least."""
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))
