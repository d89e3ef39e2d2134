"""Runge-Kutta: a field evaluated several times within one sub-update."""

from typing import Any, ClassVar

from velocity_ledger.integrators._contract import Context, Field, scalar
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.momentum._base import Impulse, Momentum


class Staged(Momentum):
    """Several evaluations within one sub-update, nothing kept between two; `h` is their step.

    A field of each rule's own, so that it may stand behind others.
    """

    remembers: ClassVar[bool] = False

    @property
    def ahead(self) -> bool:
        return True

    @property
    def inner_step(self) -> Any:
        return self.h  # pyright: ignore[reportAttributeAccessIssue]


class Heun(Staged):
    """Average the field here and one step ahead, order 2.

        f1 = f(x);  f2 = f(x + h f1);  direction = (f1 + f2) / 2

    h is the step the direction will be scaled by. All evaluations share weights and dropout mask
    (ODE Transformer, Li et al. 2022, arXiv 2203.09176).
    """

    evaluations: ClassVar[int] = 2

    h: Scalar = 1.0

    def order(self, h: Any) -> int | None:
        # The fields ahead are where the step will lead only if it is scaled by the same h.
        return 2 if bool(h == self.h) else 1

    def update(self, field: Field, x: Any, state: Any, ctx: Context) -> tuple[Impulse, Any]:
        del ctx
        first = field(x)
        second = field(x + scalar(self.h, x) * first)
        mean = 0.5 * (first + second)
        return Impulse(direction=mean, increment=mean), state


class RungeKutta4(Staged):
    """The classical four evaluations, order 4.

        f1 = f(x);  f2 = f(x + h/2 f1);  f3 = f(x + h/2 f2);  f4 = f(x + h f3)
        direction = (f1 + 2 f2 + 2 f3 + f4) / 6

    h is the step the direction will be scaled by (ODE Transformer, Li et al. 2022, arXiv
    2203.09176).
    """

    evaluations: ClassVar[int] = 4

    h: Scalar = 1.0

    def order(self, h: Any) -> int | None:
        # The fields ahead are where the step will lead only if it is scaled by the same h.
        return 4 if bool(h == self.h) else 1

    def update(self, field: Field, x: Any, state: Any, ctx: Context) -> tuple[Impulse, Any]:
        del ctx
        h = scalar(self.h, x)
        first = field(x)
        second = field(x + (0.5 * h) * first)
        third = field(x + (0.5 * h) * second)
        fourth = field(x + h * third)
        mean = (first + 2 * second + 2 * third + fourth) / 6
        return Impulse(direction=mean, increment=mean), state
