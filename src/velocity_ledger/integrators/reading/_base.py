"""The reading: from the last stream and what was remembered to what the head reads."""

from typing import Any, ClassVar

from velocity_ledger.integrators._contract import Context
from velocity_ledger.integrators._value import Value
from velocity_ledger.integrators.geometry import Geometry
from velocity_ledger.integrators.momentum import Momentum
from velocity_ledger.integrators.step_scale import StepScale


class Reading(Value):
    """What the head reads."""

    coasts: ClassVar[bool] = False
    """Whether it asks the momentum how far it would still travel."""

    def read(
        self,
        momentum: Momentum,
        geometry: Geometry,
        step_scale: StepScale,
        stream: Any,
        state: Any,
        ctx: Context,
    ) -> Any:
        """Return what the head reads of the last stream and state."""
        raise NotImplementedError(f"{type(self).__name__} must define read")
