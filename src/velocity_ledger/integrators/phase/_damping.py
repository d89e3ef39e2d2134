"""How strongly a momentum is damped in the course of depth."""

from typing import Any

import jax.numpy as jnp

from velocity_ledger.integrators._contract import Context, Parameter
from velocity_ledger.integrators._value import Scalar, Value
from velocity_ledger.integrators.coefficient import Learned, Number, declare, evaluate


class LogLinear(Value):
    """The damping exponent eta(t) = log ln(t / t0) + linear t, whose rate is log / t + linear.

    Both coefficients are learned, from 3 and 1e-4, under a softplus; time starts at t0 = 1 (Stein
    et al. 2026, arXiv 2603.16535, as read from their public code). Whether one pair serves all
    layers could not be confirmed: here it does.
    """

    log: Number = Learned(3.0, "softplus", "model")
    linear: Number = Learned(1e-4, "softplus", "model")
    t0: Scalar = 1.0

    def parameters(self) -> dict[str, Parameter]:
        """Declare what is learned, by name."""
        return declare(damping_log=self.log, damping_linear=self.linear)

    def between(self, t: Any, dt: Any, ctx: Context) -> Any:
        """Return eta(t + dt) - eta(t), without the loss of a difference of large numbers."""
        log, linear = self._numbers(t, ctx)
        return log * jnp.log1p(dt / t) + linear * dt

    def rate(self, t: Any, ctx: Context) -> Any:
        """Return eta'(t)."""
        log, linear = self._numbers(t, ctx)
        return log / t + linear

    def _numbers(self, t: Any, ctx: Context) -> tuple[Any, Any]:
        log = evaluate(self.log, "damping_log", t, ctx)
        return log, evaluate(self.linear, "damping_linear", t, ctx)
