"""A velocity that is normalised, fed through its own gains, and looked ahead along."""

import dataclasses as dc
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Field, Parameter
from velocity_ledger.integrators.coefficient import Coefficient, Number, declare, evaluate
from velocity_ledger.integrators.momentum._base import Impulse, Momentum
from velocity_ledger.integrators.momentum._start import (
    check_start,
    declare_start,
    start_velocity,
)

_NORMS = ("none", "overwrite", "read")
_EPSILON = 1e-5
_AT_REST = "at the first sub-update, where there is no velocity yet"


class LookAhead(Momentum):
    """Evaluate the field ahead of the stream, and keep a velocity with gains of its own.

        v' = beta v + gamma f(x + mu v)         norm != "overwrite"
        v' = LN(beta v + gamma f(x + mu v))     norm = "overwrite": the velocity itself
        direction = v'                          norm != "read"
        direction = LN(v')                      norm = "read": only what is read of it
        v_0 = 0                                 start = "zero"
        v_0 = velocity_start                    start = "vector"
        v_0 = velocity_token + velocity_position      start = "tokens"

    LN is a LayerNorm over the width without bias, with a learned gain that starts at 1, one per
    `norm_per`. v starts at zero, at a learned `vector`, or from learned tables of `tokens` and
    positions (the papers do that: it adds as many parameters as the embedding has).
    mu = 0 is a heavy ball; mu = beta = 0, gamma = 1 without norm is Euler.

    Sources: YuriiFormer, Zimin et al. 2026, arXiv 2601.23236 (overwrite); HBFormer (mu = 0) and
    TMMFormer (with a learned step scale nu), Gai et al. 2026, arXiv 2605.24425; polyak shear
    (mu = 0, read), H. Noren's public code, which keeps the sub-update invertible.
    Raises `UserError` for another `norm`, `norm_per` or `start`.
    """

    mu: Number = 0.9
    beta: Number = 0.9
    gamma: Number = 1.0
    norm: str = "none"
    norm_per: str = "sub_update"
    start: str = "zero"

    def __post_init__(self) -> None:
        check_start(self.start)
        if self.norm not in _NORMS:
            raise UserError(f"norm is one of {', '.join(_NORMS)}, got {self.norm!r}")
        if self.norm_per not in ("sub_update", "layer", "model"):
            raise UserError(f"norm_per is sub_update, layer or model, got {self.norm_per!r}")

    def parameters(self, width: int) -> dict[str, Parameter]:
        found = declare(mu=self.mu, beta=self.beta, gamma=self.gamma)
        if self.start == "zero":
            found |= {
                name: dc.replace(found[name], zero_gradient=_AT_REST)
                for name in ("mu", "beta")
                if name in found
            }
        if self.norm != "none":
            per: Any = self.norm_per
            found["velocity_norm"] = Parameter(shape=(width,), init=1.0, per=per)
        return found | declare_start(self.start, width)

    @property
    def invertible(self) -> bool:
        """As a heavy ball's, where nothing is looked ahead and no norm overwrites the velocity."""
        ahead = isinstance(self.mu, Coefficient) or bool(self.mu != 0)
        rest = isinstance(self.beta, Coefficient) or bool(self.beta != 0)
        return not ahead and rest and self.norm != "overwrite"

    def init(self, x0: Float[Array, "*batch width"], ctx: Context) -> Float[Array, "*batch width"]:
        return start_velocity(self.start, x0, ctx)

    def update(self, field: Field, x: Any, state: Any, ctx: Context) -> tuple[Impulse, Any]:
        mu, beta = evaluate(self.mu, "mu", x, ctx), evaluate(self.beta, "beta", x, ctx)
        gamma = evaluate(self.gamma, "gamma", x, ctx)
        f = field(x + mu * state)
        v = beta * state + gamma * f
        direction = v if self.norm == "none" else _norm(v, ctx.parameters["velocity_norm"])
        if self.norm == "overwrite":
            v = direction
        return Impulse(direction=direction, increment=f, velocity=v), v


def _norm(v: Any, gain: Any) -> Any:
    z = v.astype(jnp.float32)
    z = z - jnp.mean(z, -1, keepdims=True)
    z = z * jax.lax.rsqrt(jnp.mean(z * z, -1, keepdims=True) + _EPSILON)
    return (z * gain).astype(v.dtype)
