"""The stream and its momentum as one system, whose field gives the rates of both."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Field, Info, Integrator, Parameter
from velocity_ledger.integrators.coefficient import Learned, Number, declare, evaluate
from velocity_ledger.integrators.momentum._layer_norm import layer_norm
from velocity_ledger.integrators.momentum._start import (
    check_start,
    declare_start,
    start_velocity,
)
from velocity_ledger.integrators.phase._damping import LogLinear
from velocity_ledger.integrators.phase._rule import Clock, Rule
from velocity_ledger.integrators.phase._rules import PresymplecticEuler


class Phase(Integrator):
    """Move the stream x together with a momentum p that the field itself pushes.

        dx/dt = F(x, p),  dp/dt = G(x, p) - eta'(t) p

    The field reads [x; p] side by side, twice as wide as the stream, and returns [F; G] alike; what
    it makes them of, attention or anything else, stays its own. `rule` is the step, `damping` eta,
    h_x and h_p two steps, learned per sub-update from `Learned(0.3, "softplus")` as SympFormer's
    rules of order 1 begin (.01 for its rules of order 2). p starts as any velocity does, and with
    `norm` goes through a LayerNorm without bias after each step. One step covers h_p of time in the
    equations of the paper; its code samples eta over h_x (`interval="h_x"`).

    Source: SympFormer, Stein, Li & Steidl 2026, arXiv 2603.16535, as read from public code and
    notes; that time advances by the interval over which eta is sampled, and that the norm has a
    gain of its own for every sub-update, could not be confirmed.
    Raises `UserError` for another `start` or `interval`.
    """

    rule: Rule = PresymplecticEuler()
    damping: LogLinear = LogLinear()
    h_x: Number = Learned(0.3, "softplus")
    h_p: Number = Learned(0.3, "softplus")
    norm: bool = True
    start: str = "zero"
    interval: str = "h_p"

    def __post_init__(self) -> None:
        check_start(self.start)
        if self.start == "bootstrap":
            raise UserError("a momentum is pushed by its field: start it at zero, vector or tokens")
        if self.interval not in ("h_x", "h_p"):
            raise UserError(f"the interval of a step is h_x or h_p, got {self.interval!r}")

    @property
    def evaluations(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How often one step evaluates its field; the rule decides."""
        return self.rule.evaluations

    def parameters(self, width: int) -> dict[str, Parameter]:
        found = declare(h_x=self.h_x, h_p=self.h_p) | self.damping.parameters()
        if self.norm:
            found["momentum_norm"] = Parameter((width,), 1.0)
        return found | declare_start(self.start, width)

    def init(self, x0: Array, ctx: Context) -> tuple[Any, Any]:
        p = start_velocity(self.start, x0, ctx)
        return x0, (p, jnp.asarray(self.damping.t0, jnp.float32), self.rule.init(x0))

    def step(self, field: Field, stream: Any, state: Any, ctx: Context) -> tuple[Any, Any, Info]:
        p, t, memory = state
        h_x, h_p = evaluate(self.h_x, "h_x", t, ctx), evaluate(self.h_p, "h_p", t, ctx)
        dt = h_p if self.interval == "h_p" else h_x
        clock = Clock(t, dt, h_x, h_p, self.damping, ctx)

        def oracle(x: Any, p: Any) -> tuple[Any, Any]:
            f, g = jnp.split(field(jnp.concatenate([x, p], -1)), 2, -1)
            return f, g

        x, p, memory, f = self.rule.advance(oracle, stream, p, memory, clock)
        if self.norm:
            p = layer_norm(p, ctx.parameters["momentum_norm"])
        step = x - stream
        info = Info(increment=f, raw_step=step, step=step, velocity=p)
        return x, (p, (t + dt).astype(jnp.float32), memory), info
