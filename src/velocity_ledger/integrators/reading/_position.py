"""The stream where it is."""

from typing import Any

from velocity_ledger.integrators._contract import Context
from velocity_ledger.integrators.geometry import Geometry
from velocity_ledger.integrators.momentum import Momentum
from velocity_ledger.integrators.reading._base import Reading
from velocity_ledger.integrators.step_scale import StepScale


class Position(Reading):
    """Read the stream as it stands after the last sub-update: `x_n`."""

    def read(
        self,
        momentum: Momentum,
        geometry: Geometry,
        step_scale: StepScale,
        stream: Any,
        state: Any,
        ctx: Context,
    ) -> Any:
        del momentum, geometry, step_scale, state, ctx
        return stream
