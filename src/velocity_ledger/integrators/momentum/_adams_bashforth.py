"""Adams-Bashforth: the field of the sub-update before, used again."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from velocity_ledger.integrators._contract import Context, Field
from velocity_ledger.integrators.momentum._base import Impulse, Momentum


class AdamsBashforth2(Momentum):
    """Extrapolate from the last two fields.

        direction = f(x)                    k = 0
        direction = 3/2 f(x) - 1/2 g        k > 0
        g' = f(x)

    Of order 2 where every sub-update has the same field (Bashforth & Adams 1883); where attention
    and MLP take turns it extrapolates from one to the other, unless each has a memory of its own
    (`Separate`). There are no learned parameters. What is left to coast is -1/2 f.
    """

    def order(self, h: Any) -> int | None:
        del h
        return 2

    def init(self, x0: Float[Array, "*batch width"], ctx: Context) -> Float[Array, "*batch width"]:
        del ctx
        return jnp.zeros_like(x0)

    def update(self, field: Field, x: Any, state: Any, ctx: Context) -> tuple[Impulse, Any]:
        f = field(x)
        half = jnp.where(jnp.asarray(ctx.age) == 0, 0.0, 0.5).astype(x.dtype)
        direction = f + half * (f - state)
        return Impulse(direction=direction, increment=f), f

    @property
    def uncoasted(self) -> str:
        return ""

    def coast(self, state: Any, ctx: Context) -> Any:
        del ctx
        return -0.5 * state
