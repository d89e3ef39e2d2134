"""A learned step scale per dimension."""

from typing import Any

from velocity_ledger.integrators._contract import Context, Parameter, scalar
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.step_scale._base import StepScale
from velocity_ledger.integrators.step_scale._fixed import check_h


class Alpha(StepScale):
    """Step by a learned vector: `step = h * alpha * direction`, elementwise.

    Every sub-update learns its own alpha of the stream's width, which starts at `alpha`; nGPT
    calls them eigen learning rates (Loshchilov et al. 2024, arXiv 2410.01131) and starts them at
    0.05, the published ngpt-lite at 1.
    """

    alpha: Scalar = 1.0
    h: Scalar = 1.0

    def __post_init__(self) -> None:
        check_h(self.h)

    def parameters(self, width: int) -> dict[str, Parameter]:
        return {"alpha": Parameter(shape=(width,), init=self.alpha)}

    def scale(self, direction: Any, ctx: Context) -> Any:
        alpha = ctx.parameters["alpha"].astype(direction.dtype)
        return scalar(self.h, direction) * (alpha * direction)
