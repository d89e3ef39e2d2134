"""The stream where its velocity would still carry it."""

import dataclasses as dc
from typing import Any, ClassVar

from velocity_ledger.integrators._contract import Context
from velocity_ledger.integrators.geometry import Geometry
from velocity_ledger.integrators.momentum import Momentum
from velocity_ledger.integrators.reading._base import Reading
from velocity_ledger.integrators.step_scale import StepScale


class Coast(Reading):
    """Read the stream where it would come to rest if every later field were zero.

        x_n + h (mu + mu^2 + ...) v_n = x_n + h mu/(1 - mu) v_n         heavy ball

    It restores every block's gain to that of the first (the damped ledger's x_n holds only
    1 - mu^(n-k) of block k), so that what is left of the velocity is delay alone. Coefficients are
    those of the last sub-update. On a sphere the whole way is one step, retracted once. The
    recorded path still ends at x_n.
    """

    coasts: ClassVar[bool] = True

    def read(
        self,
        momentum: Momentum,
        geometry: Geometry,
        step_scale: StepScale,
        stream: Any,
        state: Any,
        ctx: Context,
    ) -> Any:
        if ctx.total == 0:
            return stream
        last = dc.replace(ctx, index=ctx.total - 1)
        way = step_scale.scale(momentum.coast(state, last), last)
        return geometry.move(stream, way)[0]
