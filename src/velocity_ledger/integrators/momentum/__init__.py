"""Momentum: how the field's outputs accumulate into the direction of a step."""

from velocity_ledger.integrators.momentum._base import Impulse as Impulse, Momentum as Momentum
from velocity_ledger.integrators.momentum._euler import Euler as Euler
from velocity_ledger.integrators.momentum._heavy_ball import HeavyBall as HeavyBall
