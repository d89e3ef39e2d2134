"""The same weights for every token."""

from typing import Any

import jax.numpy as jnp

from velocity_ledger.integrators._contract import Context, Parameter
from velocity_ledger.integrators.streams._connection import Connection, Weights, turn


class Static(Connection):
    """Learned weights that do not read the streams.

        read = A_m,  mix = A_r^T,  write = B        A_m = e_(k mod n), A_r = I, B = 1 at the start

    Each is learned as what is added to its start. As in the paper, weight decay leaves them alone.
    Source: hyper-connections, Zhu et al. 2024, arXiv 2409.19606.
    """

    def parameters(self, width: int) -> dict[str, Parameter]:
        del width
        n = self.streams
        return {
            "read": Parameter((n,), 0.0, decays=False),
            "mix": Parameter((n, n), 0.0, decays=False),
            "write": Parameter((n,), 0.0, decays=False),
        }

    def weights(self, streams: Any, ctx: Context) -> Weights:
        del streams
        own, n = ctx.parameters, self.streams
        mix = jnp.eye(n) + own["mix"]
        return Weights(turn(n, ctx.index) + own["read"], 1 + own["write"], mix.T)
