"""The steps that SympFormer compares."""

from typing import Any, ClassVar

import jax.numpy as jnp

from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.phase._rule import Clock, Oracle, Rule, times


class DampedEuler(Rule):
    """Forward Euler of everything.

    x' = x + h_x F(x, p);  p' = p + h_p (G(x, p) - eta'(t) p)
    """

    def advance(
        self, oracle: Oracle, x: Any, p: Any, memory: Any, clock: Clock
    ) -> tuple[Any, Any, Any, Any]:
        f, g = oracle(x, p)
        rate = g - times(clock.rate(), p)
        return x + times(clock.h_x, f), p + times(clock.h_p, rate), memory, f


class ExponentialEuler(Rule):
    """The damping exactly, the force held fixed over it; x moves by the old p.

    sigma = exp(-d), d = eta(t + dt) - eta(t);  w = h_p (1 - sigma) / d
    p' = sigma p + w G(x, p);  x' = x + h_x F(x, p)
    """

    def advance(
        self, oracle: Oracle, x: Any, p: Any, memory: Any, clock: Clock
    ) -> tuple[Any, Any, Any, Any]:
        f, g = oracle(x, p)
        d = jnp.asarray(clock.exponent())
        some = jnp.where(d == 0, 1.0, d)
        weight = clock.h_p * jnp.where(d == 0, 1.0, -jnp.expm1(-some) / some)
        moved = times(clock.kept(), p) + times(weight, g)
        return x + times(clock.h_x, f), moved, memory, f


class PresymplecticEuler(Rule):
    """First the momentum, damped after the kick, then x by the new one.

    p' = sigma (p + h_p G(x, p));  x' = x + h_x F(x, p')
    """

    evaluations: ClassVar[int] = 2

    def advance(
        self, oracle: Oracle, x: Any, p: Any, memory: Any, clock: Clock
    ) -> tuple[Any, Any, Any, Any]:
        _, g = oracle(x, p)
        moved = times(clock.kept(), p + times(clock.h_p, g))
        f, _ = oracle(x, moved)
        return x + times(clock.h_x, f), moved, memory, f


class DampedAdamsBashforth2(Rule):
    """Extrapolate from the last two rates d = (F, G - eta'(t) p), Euler first.

        3/2 d_k - 1/2 d_(k-1)                       equal steps
        (1 + r/2) d_k - r/2 d_(k-1), r = h_k/h_(k-1)         variable=True

    Stein et al. used the first form in March 2026 and the second later; with steps learned for
    every layer only the second is of order 2.
    """

    variable: bool = False

    def init(self, x0: Any) -> Any:
        zero = jnp.zeros_like(x0)
        return zero, zero, jnp.zeros((2,), jnp.float32)

    def advance(
        self, oracle: Oracle, x: Any, p: Any, memory: Any, clock: Clock
    ) -> tuple[Any, Any, Any, Any]:
        f, g = oracle(x, p)
        rate = g - times(clock.rate(), p)
        f_before, rate_before, steps_before = memory
        steps = jnp.stack([jnp.asarray(clock.h_x), jnp.asarray(clock.h_p)])
        steps = steps.astype(steps_before.dtype)
        first = steps_before == 0
        ratio = steps / jnp.where(first, 1.0, steps_before) if self.variable else 1.0
        weight = jnp.where(first, 0.0, 0.5 * ratio)
        moved = x + times(clock.h_x, f + times(weight[0], f - f_before))
        kicked = p + times(clock.h_p, rate + times(weight[1], rate - rate_before))
        return moved, kicked, (f, rate, steps), f


class DampedStrang(Rule):
    """Half the damping, a conservative step, half the damping.

        p <- p sqrt-damped;  (x, p) <- conservative step;  p <- p sqrt-damped

    The conservative step is that of Tao (2016), since F and G each read both: x and p are doubled,
    (x, p, y, q) with y = x, q = p, then A(h/2) B(h/2) C(h) B(h/2) A(h/2), where

        A:  p += h G(x, q), y += h F(x, q)
        B:  x += h F(y, p), q += h G(y, p)
        C:  x - y and p - q turned against each other by the angle 2 xi h_x

    It is the explicit doubling that Stein et al. name, with coupling angle 2 xi h. Their xi, and
    whether the two copies are joined again by keeping the first or by their mean, could not be
    confirmed: here xi = 1 and the first is kept, as Tao does.
    """

    evaluations: ClassVar[int] = 4

    xi: Scalar = 1.0

    def advance(
        self, oracle: Oracle, x: Any, p: Any, memory: Any, clock: Clock
    ) -> tuple[Any, Any, Any, Any]:
        h_x, h_p = 0.5 * clock.h_x, 0.5 * clock.h_p
        p = times(clock.kept(0.0, 0.5), p)
        y, q, begun = x, p, x
        f, g = oracle(x, q)
        p, y = p + times(h_p, g), y + times(h_x, f)
        f, g = oracle(y, p)
        x, q = x + times(h_x, f), q + times(h_p, g)
        angle = 2 * self.xi * clock.h_x
        x, p, y, q = _turn(x, p, y, q, jnp.cos(angle), jnp.sin(angle))
        f, g = oracle(y, p)
        x, q = x + times(h_x, f), q + times(h_p, g)
        _, g = oracle(x, q)
        p = p + times(h_p, g)
        p = times(clock.kept(0.5, 1.0), p)
        return x, p, memory, (x - begun) / jnp.asarray(clock.h_x).astype(x.dtype)


def _turn(x: Any, p: Any, y: Any, q: Any, cos: Any, sin: Any) -> tuple[Any, Any, Any, Any]:
    """Turn (x - y, p - q) by an angle, the sums left alone."""
    dx, dp = x - y, p - q
    tx, tp = times(cos, dx) + times(sin, dp), times(cos, dp) - times(sin, dx)
    return (
        0.5 * (x + y + tx),
        0.5 * (p + q + tp),
        0.5 * (x + y - tx),
        0.5 * (p + q - tp),
    )
