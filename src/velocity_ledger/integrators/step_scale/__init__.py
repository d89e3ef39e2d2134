"""Step scale: how far a sub-update goes along its direction."""

from velocity_ledger.integrators.step_scale._alpha import Alpha as Alpha
from velocity_ledger.integrators.step_scale._base import StepScale as StepScale
from velocity_ledger.integrators.step_scale._fixed import Fixed as Fixed
