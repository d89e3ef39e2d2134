"""Momentum: how the field's outputs accumulate into the direction of a step."""

from velocity_ledger.integrators.momentum._adams_bashforth import (
    AdamsBashforth2 as AdamsBashforth2,
)
from velocity_ledger.integrators.momentum._base import Impulse as Impulse, Momentum as Momentum
from velocity_ledger.integrators.momentum._euler import Euler as Euler
from velocity_ledger.integrators.momentum._heavy_ball import HeavyBall as HeavyBall
from velocity_ledger.integrators.momentum._look_ahead import LookAhead as LookAhead
from velocity_ledger.integrators.momentum._preconditioned import (
    Preconditioned as Preconditioned,
)
from velocity_ledger.integrators.momentum._runge_kutta import (
    Heun as Heun,
    RungeKutta4 as RungeKutta4,
)
from velocity_ledger.integrators.momentum._separate import Separate as Separate
from velocity_ledger.integrators.momentum._two_stage import (
    GatedTwoStage as GatedTwoStage,
    TwoStage as TwoStage,
)
