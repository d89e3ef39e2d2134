"""A learned step scale per dimension."""

from typing import Any

import jax.numpy as jnp

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Parameter, scalar
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.step_scale._base import StepScale
from velocity_ledger.integrators.step_scale._fixed import check_h


class Alpha(StepScale):
    """Step by a learned vector: `step = h * alpha * direction`, elementwise.

    Every sub-update learns its own alpha of the stream's width, which starts at `alpha`; nGPT
    calls them eigen learning rates (Loshchilov et al. 2024, arXiv 2410.01131) and starts them at
    0.05, the published ngpt-lite at 1. `absolute` steps by |alpha|. With `rescaled` what is learned
    is a raw vector w that starts at b = width^-1/2, and alpha is w / b times its start, which
    changes how fast an optimizer moves alpha and nothing else. nGPT does both.

    Raises `UserError` for a rescaled alpha that starts at 0: it could never leave it.
    """

    alpha: Scalar = 1.0
    h: Scalar = 1.0
    absolute: bool = False
    rescaled: bool = False

    def __post_init__(self) -> None:
        check_h(self.h)
        if self.rescaled and isinstance(self.alpha, (int, float)) and self.alpha == 0:
            raise UserError("a rescaled alpha cannot start at 0: it is a multiple of its start")

    def parameters(self, width: int) -> dict[str, Parameter]:
        return {
            "alpha": Parameter(shape=(width,), init=width**-0.5 if self.rescaled else self.alpha)
        }

    def scale(self, direction: Any, ctx: Context) -> Any:
        alpha = ctx.parameters["alpha"].astype(direction.dtype)
        if self.rescaled:
            alpha = alpha * (scalar(self.alpha, direction) * direction.shape[-1] ** 0.5)
        if self.absolute:
            alpha = jnp.abs(alpha)
        return scalar(self.h, direction) * (alpha * direction)
