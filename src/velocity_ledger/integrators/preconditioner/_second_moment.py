"""Divide every entry by its own root mean square."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from velocity_ledger.integrators._contract import Context, Parameter
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.coefficient import Number, declare, evaluate
from velocity_ledger.integrators.preconditioner._base import Preconditioner


class SecondMoment(Preconditioner):
    """Adam's and RMSProp's divisor, entry by entry.

        s' = beta2 s + (1 - beta2) g^2
        u = m / (sqrt(s') + epsilon)

    s starts at 1 and is kept in float32; there is no bias correction. beta2 = 1 leaves s at 1, and
    m is read as it is. Source: Gai et al. 2026, arXiv 2605.24425 (AdamFormer, RMSFormer).
    """

    beta2: Number = 0.999
    epsilon: Scalar = 1e-8

    def parameters(self, width: int) -> dict[str, Parameter]:
        del width
        return declare(beta2=self.beta2)

    def init(self, x0: Float[Array, "*batch width"]) -> Any:
        return jnp.ones(x0.shape, jnp.promote_types(x0.dtype, jnp.float32))

    def apply(self, m: Any, g: Any, state: Any, ctx: Context) -> tuple[Any, Any]:
        g = g.astype(state.dtype)
        beta = evaluate(self.beta2, "beta2", state, ctx)
        s = beta * state + (1 - beta) * (g * g)
        return (m.astype(s.dtype) / (jnp.sqrt(s) + self.epsilon)).astype(m.dtype), s
