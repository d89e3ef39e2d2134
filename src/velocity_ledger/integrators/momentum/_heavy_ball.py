"""Heavy ball: a velocity that remembers earlier fields."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Field, Parameter
from velocity_ledger.integrators.coefficient import (
    Coefficient,
    Number,
    contracts,
    declare,
    evaluate,
    held,
    vanishes,
)
from velocity_ledger.integrators.momentum._base import Impulse, Momentum
from velocity_ledger.integrators.momentum._coast import coasted
from velocity_ledger.integrators.momentum._start import (
    begin,
    check_start,
    declare_start,
    quiet,
    start_velocity,
)


class HeavyBall(Momentum):
    """Keep a velocity and step along it.

        v' = mu v + (1 - mu) f(x)              damped: an average of the fields so far
        v' = mu v + f(x)                       not damped: their discounted sum
        direction = v'                         not debias
        direction = v' / (1 - mu^(k + 1))      debias: k = 0, 1, ...
        v_0 = 0                                 start = "zero"
        v_0 = velocity_start                    start = "vector"
        v_0 = velocity_token + velocity_position      start = "tokens"

    v starts at zero, at a learned `vector`, from learned tables of `tokens`, or by a `bootstrap`:
    the first update is Euler's, v_1 = f(x_0). It is shared by all sub-updates (`Separate` gives
    each kind its own). mu is a number, or a coefficient that is learned, drawn or changes through
    depth. mu = 0 is Euler by this arithmetic, and mu = 1, damped, never leaves the start. `debias`
    removes the bias of the zero start as `optax.ema(debias=True)` does; at |mu| = 1 there is
    nothing to divide by. Without fields the velocity would still carry the stream by mu/(1 - mu) v.

    Sources: Polyak 1964; Sander et al. 2021, arXiv 2102.07870 (damped).
    Raises `UserError` for |mu| > 1, for `debias` without damping, at |mu| = 1 or where mu is no
    number.
    """

    mu: Number = 0.9
    damped: bool = True
    debias: bool = False
    start: str = "zero"

    def __post_init__(self) -> None:
        check_start(self.start)
        if self.debias and self.start != "zero":
            raise UserError("debias removes the bias of a start at zero: it needs start='zero'")
        if self.debias and not self.damped:
            raise UserError("debias corrects an average: it needs damped=True")
        if self.debias and isinstance(self.mu, Coefficient):
            raise UserError("debias divides by 1 - mu^k: it needs one number for mu")
        if not isinstance(self.mu, (int, float)):
            return
        if not -1.0 <= self.mu <= 1.0:
            raise UserError(f"mu must lie between -1 and 1, got {self.mu}")
        if self.debias and abs(self.mu) == 1:
            raise UserError(f"debias divides by 1 - mu^k, which vanishes at mu = {self.mu}")

    def parameters(self, width: int) -> dict[str, Parameter]:
        found = quiet(declare(mu=self.mu), self.start, "bootstrap", ("mu",))
        if not self.damped:
            found = quiet(found, self.start, "zero", ("mu",))
        return found | declare_start(self.start, width)

    @property
    def rests(self) -> bool:
        return self.start != "tokens"

    @property
    def invertible(self) -> bool:
        """x = x' - h v', then v = (v' - gain f(x)) / mu: wherever mu does not vanish.

        A mu that was drawn for a sample is known again from its key; without one, as in
        evaluation, it is zero and nothing can be undone.
        """
        return not vanishes(self.mu)

    def order(self, h: Any) -> int | None:
        """1 where the gains of a field's output, over all later steps, add up to h.

        2 for the midpoint rule, mu = -1, after a bootstrap.
        """
        del h
        if self.start == "bootstrap" and self.damped and self.mu == -1:
            return 2
        average = self.damped and not isinstance(self.mu, Coefficient) and bool(self.mu < 1)
        return 1 if average else None

    def as_euler(self) -> "HeavyBall | None":
        """mu = 0: no velocity is remembered, wherever it started."""
        mu = held(self.mu, 0.0)
        return None if mu is None else self.replace(mu=mu)

    def init(self, x0: Float[Array, "*batch width"], ctx: Context) -> Float[Array, "*batch width"]:
        return start_velocity(self.start, x0, ctx)

    def update(self, field: Field, x: Any, state: Any, ctx: Context) -> tuple[Impulse, Any]:
        f = field(x)
        mu = evaluate(self.mu, "mu", x, ctx)
        # Of a number, taken before it is rounded to the stream's dtype.
        one_less = 1 - (mu if isinstance(self.mu, Coefficient) else self.mu)
        gain = evaluate(one_less, "mu", x, ctx) if self.damped else 1
        v = begin(self.start, mu * state + gain * f, f, ctx)
        direction = v
        if self.debias:
            mass = 1 - jnp.power(jnp.asarray(self.mu, jnp.float32), ctx.age + 1)
            direction = (v / mass).astype(v.dtype)
        return Impulse(direction=direction, increment=f, velocity=v), v

    @property
    def uncoasted(self) -> str:
        if self.debias:
            return "a debiased velocity has no closed sum: write debias=False"
        return "" if contracts(self.mu) else "without |mu| < 1 a velocity coasts for ever"

    def coast(self, state: Any, ctx: Context) -> Any:
        return coasted(self.mu, "mu", state, ctx)
