"""What one step in phase space is."""

import dataclasses as dc
from collections.abc import Callable
from typing import Any, ClassVar

import jax.numpy as jnp

from velocity_ledger.integrators._contract import Context
from velocity_ledger.integrators._value import Value
from velocity_ledger.integrators.phase._damping import LogLinear

Oracle = Callable[[Any, Any], tuple[Any, Any]]
"""(x, p) to the rates (F, G) of both."""


@dc.dataclass(frozen=True)
class Clock:
    """The time of a step: its start t, what it covers of time, and the damping over it."""

    t: Any
    dt: Any
    h_x: Any
    h_p: Any
    damping: LogLinear
    ctx: Context

    def kept(self, first: float = 0.0, last: float = 1.0) -> Any:
        """Return sigma = exp(-(eta(t + last dt) - eta(t + first dt)))."""
        return jnp.exp(-self.exponent(first, last))

    def exponent(self, first: float = 0.0, last: float = 1.0) -> Any:
        """Return eta(t + last dt) - eta(t + first dt)."""
        start = self.t + first * self.dt
        return self.damping.between(start, (last - first) * self.dt, self.ctx)

    def rate(self) -> Any:
        """Return alpha = eta'(t)."""
        return self.damping.rate(self.t, self.ctx)


class Rule(Value):
    """One step of dx/dt = F(x, p), dp/dt = G(x, p) - eta'(t) p."""

    evaluations: ClassVar[int] = 1
    """How often one step evaluates the field."""

    def init(self, x0: Any) -> Any:
        """Return what the rule remembers besides x and p, before the first step."""
        del x0
        return ()

    def advance(
        self, oracle: Oracle, x: Any, p: Any, memory: Any, clock: Clock
    ) -> tuple[Any, Any, Any, Any]:
        """Return x', p', what is remembered, and the F that moved x."""
        raise NotImplementedError(f"{type(self).__name__} must define advance")


def times(number: Any, array: Any) -> Any:
    """Return the product in the array's dtype."""
    return jnp.asarray(number).astype(array.dtype) * array
