"""The step-scale axis: how far to go along a direction."""

from typing import Any

from velocity_ledger.integrators._contract import Context, Parameter
from velocity_ledger.integrators._value import Value


class StepScale(Value):
    """How long a step is taken along its direction."""

    @property
    def uniform(self) -> Any:
        """The one number that every direction is multiplied by; None where there is no such."""
        return None

    def parameters(self, width: int) -> dict[str, Parameter]:
        """Declare what is learned, by name."""
        del width
        return {}

    def scale(self, direction: Any, ctx: Context) -> Any:
        """Return the proposed step."""
        raise NotImplementedError(f"{type(self).__name__} must define scale")
