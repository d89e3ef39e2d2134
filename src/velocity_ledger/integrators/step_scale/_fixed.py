"""One fixed step scale."""

from typing import Any

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, scalar
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.step_scale._base import StepScale


def check_h(h: Any) -> None:
    """Raise `UserError` unless the step scale is a finite number, where it is known."""
    if isinstance(h, (int, float)) and not abs(h) < float("inf"):
        raise UserError(f"h must be a finite number, got {h}")


class Fixed(StepScale):
    """Step by a fixed multiple of the direction: `step = h * direction`."""

    h: Scalar = 1.0

    def __post_init__(self) -> None:
        check_h(self.h)

    def scale(self, direction: Any, ctx: Context) -> Any:
        del ctx
        return scalar(self.h, direction) * direction
