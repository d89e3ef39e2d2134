"""One step scale for all dimensions."""

from typing import Any

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Parameter
from velocity_ledger.integrators.coefficient import Coefficient, Number, declare, evaluate
from velocity_ledger.integrators.step_scale._base import StepScale


def check_h(h: Any) -> None:
    """Raise `UserError` unless the step scale is a finite number, where it is known."""
    if isinstance(h, (int, float)) and not abs(h) < float("inf"):
        raise UserError(f"h must be a finite number, got {h}")


class Fixed(StepScale):
    """Step by a multiple of the direction: `step = h * direction`.

    h is a number, or a coefficient: learned from 0 it is ReZero (Bachlechner et al. 2020, arXiv
    2003.04887), `ledger_gain` makes it the ledger's control.
    """

    h: Number = 1.0

    def __post_init__(self) -> None:
        check_h(self.h)

    @property
    def uniform(self) -> Any:
        return None if isinstance(self.h, Coefficient) else self.h

    def parameters(self, width: int) -> dict[str, Parameter]:
        del width
        return declare(h=self.h)

    def scale(self, direction: Any, ctx: Context) -> Any:
        return evaluate(self.h, "h", direction, ctx) * direction
