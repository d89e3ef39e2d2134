"""Weights that every token computes from its own streams."""

from typing import Any

import jax.numpy as jnp

from velocity_ledger.integrators._contract import Context, Parameter
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.momentum._layer_norm import layer_norm
from velocity_ledger.integrators.streams._connection import Connection, Weights, wide
from velocity_ledger.integrators.streams._static import Static


class Dynamic(Connection):
    """Static weights, and what a token's own streams add to them.

        Z = LN(H)                          each stream for itself, without gain or bias
        read = A_m + s_a tanh(Z w_m),  mix = (A_r + s_a tanh(Z W_r))^T,  write = B + s_b tanh(Z w_b)

    A_m, A_r and B are those of `Static`. w_m and w_b have the width, W_r is [width, n]; all start
    at 0, so that the start is the static one; s_a and s_b are learned and start at `scale`. Weight
    decay leaves the static ones alone, and these it does not: the paper says no more of it. The
    norm has no gain of its own, which the maps would hold as well.
    Source: hyper-connections, Zhu et al. 2024, arXiv 2409.19606.
    """

    scale: Scalar = 0.01

    def parameters(self, width: int) -> dict[str, Parameter]:
        return Static(self.streams).parameters(width) | {
            "read_map": Parameter((width,), 0.0),
            "mix_map": Parameter((width, self.streams), 0.0),
            "write_map": Parameter((width,), 0.0),
            # Behind maps of 0 a scale is not heard until the first step of training.
            "mix_scale": Parameter((), self.scale),
            "write_scale": Parameter((), self.scale),
        }

    def weights(self, streams: Any, ctx: Context) -> Weights:
        own = ctx.parameters
        fixed = Static(self.streams).weights(streams, ctx)
        z = layer_norm(wide(jnp.moveaxis(streams, 0, -2)), 1.0)

        def heard(name: str, scale: str) -> Any:
            return own[scale] * jnp.tanh(jnp.matmul(z, own[name], precision="highest"))

        return Weights(
            fixed.read + heard("read_map", "mix_scale"),
            fixed.write + heard("write_map", "write_scale"),
            fixed.mix + jnp.swapaxes(heard("mix_map", "mix_scale"), -1, -2),
        )
