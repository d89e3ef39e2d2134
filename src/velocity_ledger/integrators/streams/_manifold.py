"""Streams mixed by doubly stochastic matrices."""

import dataclasses as dc
from typing import Any

import jax
import jax.numpy as jnp

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Parameter
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.streams._connection import Connection, Weights, turn, wide
from velocity_ledger.integrators.streams._sinkhorn import sinkhorn

_EPSILON = 1e-20
_ALIKE = "at the first sub-update, where all streams are alike"


class Manifold(Connection):
    """Weights of bounded size, that every token computes from all its streams at once.

        z = vec(H) / rms(vec(H))           of all n width entries
        read = sigmoid(a_m z phi_m + b_m)
        write = 2 sigmoid(a_w z phi_w + b_w)
        mix = sinkhorn(a_r z phi_r + b_r)  doubly stochastic: columns, then rows, 20 times

    mix_ij is what stream i takes of stream j. The gains a start at `scale`, the maps phi are normal
    with deviation 1 / sqrt(n width). The paper does not give the biases' start. Here each is
    learned as what is added to a start close to the plain block:
    +`sharpness` for the stream whose turn it is (k mod n) and -`sharpness` for the others in b_m, 0
    in b_w, which writes once, `sharpness` on the diagonal of b_r and 0 beside it. At 8 a stream
    keeps .9990 of itself at every mixing; all biases at 0 mix evenly and let streams that start
    alike stay alike. Nor was anything found on weight decay: it takes all of them, the biases
    towards that start.
    Source: Xie et al. 2025, arXiv 2512.24880. Raises `UserError` for less than one
    iteration.
    """

    iterations: int = 20
    scale: Scalar = 0.01
    sharpness: Scalar = 8.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.iterations < 1:
            raise UserError(f"sinkhorn takes 1 or more iterations, got {self.iterations}")

    def parameters(self, width: int) -> dict[str, Parameter]:
        n = self.streams
        found: dict[str, Parameter] = {}
        for name, shape in (("read", (n,)), ("write", (n,)), ("mix", (n, n))):
            size = n * n if name == "mix" else n
            found[name] = Parameter(shape, 0.0)
            found[f"{name}_map"] = Parameter((n * width, size), _fan_in)
            found[f"{name}_scale"] = Parameter((), self.scale)
        mixing = {name: p for name, p in found.items() if name.startswith("mix")}
        return found | {name: dc.replace(p, zero_gradient=_ALIKE) for name, p in mixing.items()}

    def weights(self, streams: Any, ctx: Context) -> Weights:
        own, n = ctx.parameters, self.streams
        z = wide(jnp.moveaxis(streams, 0, -2))
        z = z.reshape(*z.shape[:-2], -1)
        z = z * jax.lax.rsqrt(jnp.mean(z * z, -1, keepdims=True) + _EPSILON)

        def heard(name: str) -> Any:
            mapped = jnp.matmul(z, own[f"{name}_map"], precision="highest")
            mapped = mapped.reshape(*z.shape[:-1], *own[name].shape)
            return own[f"{name}_scale"] * mapped + own[name]

        reads = self.sharpness * (2 * turn(n, ctx.index) - 1)
        mix = heard("mix") + self.sharpness * jnp.eye(n)
        return Weights(
            jax.nn.sigmoid(heard("read") + reads),
            2 * jax.nn.sigmoid(heard("write")),
            sinkhorn(mix, self.iterations),
        )

    def mixed(self, mix: Any, streams: Any) -> Any:
        # Rows sum to 1: what streams have in common passes unmixed, and to the bit.
        common = streams[:1]
        return common + super().mixed(mix, streams - common)


def _fan_in(key: Any, shape: Any, dtype: Any) -> Any:
    return jax.random.normal(key, shape, dtype) / shape[0] ** 0.5
