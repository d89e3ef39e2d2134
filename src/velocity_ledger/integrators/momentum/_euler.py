"""Forward Euler: no memory."""

from typing import Any, ClassVar

from velocity_ledger.integrators._contract import Context, Field
from velocity_ledger.integrators.momentum._base import Impulse, Momentum


class Euler(Momentum):
    """Step along the field itself: `direction = f(x)`.

    The plain pre-norm block is forward Euler on the residual stream (Lu et al. 2019,
    arXiv 1906.02762).
    """

    remembers: ClassVar[bool] = False

    def order(self, h: Any) -> int | None:
        del h
        return 1

    def as_euler(self) -> "Euler":
        return self

    def update(self, field: Field, x: Any, state: Any, ctx: Context) -> tuple[Impulse, Any]:
        del ctx
        f = field(x)
        return Impulse(direction=f, increment=f), state
