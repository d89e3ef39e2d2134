"""A velocity that is normalised, fed through its own gains, and looked ahead along."""

from typing import Any

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
from velocity_ledger.integrators.momentum._layer_norm import layer_norm
from velocity_ledger.integrators.momentum._start import (
    begin,
    check_start,
    declare_start,
    quiet,
    start_velocity,
)

_NORMS = ("none", "overwrite", "read")


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
    `norm_per`. v starts at zero, at a learned `vector`, from learned tables of `tokens` and
    positions (the papers do that: it adds as many parameters as the embedding has), or by a
    `bootstrap`: the first update is Euler's, v_1 = f(x_0).
    mu = 0 is a heavy ball; mu = beta = 0, gamma = 1 without norm is Euler.

    Sources: YuriiFormer, Zimin et al. 2026, arXiv 2601.23236 (overwrite); HBFormer (mu = 0) and
    TMMFormer (with a learned step scale nu), Gai et al. 2026, arXiv 2605.24425; polyak shear
    (mu = 0, read), H. Noren's public code, which keeps the sub-update invertible.
    Raises `UserError` for another `norm`, `norm_per` or `start`, and for a bootstrap under a norm.
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
        if self.start == "bootstrap" and self.norm != "none":
            raise UserError("a bootstrap makes the first step Euler's: it needs norm='none'")

    def parameters(self, width: int) -> dict[str, Parameter]:
        found = declare(mu=self.mu, beta=self.beta, gamma=self.gamma)
        found = quiet(found, self.start, "zero", ("mu", "beta"))
        found = quiet(found, self.start, "bootstrap", ("mu", "beta", "gamma"))
        if self.norm != "none":
            per: Any = self.norm_per
            found["velocity_norm"] = Parameter(shape=(width,), init=1.0, per=per)
        return found | declare_start(self.start, width)

    @property
    def rests(self) -> bool:
        return self.start != "tokens"

    @property
    def invertible(self) -> bool:
        """As a heavy ball's, where nothing is looked ahead and no norm overwrites the velocity."""
        return not self.ahead and not vanishes(self.beta) and self.norm != "overwrite"

    @property
    def ahead(self) -> bool:
        return isinstance(self.mu, Coefficient) or not vanishes(self.mu)

    @property
    def uncoasted(self) -> str:
        if self.norm != "none":
            return "a normalised velocity never fades: it needs norm='none'"
        return "" if contracts(self.beta) else "without |beta| < 1 a velocity coasts for ever"

    def coast(self, state: Any, ctx: Context) -> Any:
        return coasted(self.beta, "beta", state, ctx)

    def as_euler(self) -> "LookAhead | None":
        """mu = beta = 0 and gamma = 1, where no norm stands between."""
        mu, beta, gamma = held(self.mu, 0.0), held(self.beta, 0.0), held(self.gamma, 1.0)
        if self.norm != "none" or mu is None or beta is None or gamma is None:
            return None
        return self.replace(mu=mu, beta=beta, gamma=gamma)

    def init(self, x0: Float[Array, "*batch width"], ctx: Context) -> Float[Array, "*batch width"]:
        return start_velocity(self.start, x0, ctx)

    def update(self, field: Field, x: Any, state: Any, ctx: Context) -> tuple[Impulse, Any]:
        mu, beta = evaluate(self.mu, "mu", x, ctx), evaluate(self.beta, "beta", x, ctx)
        gamma = evaluate(self.gamma, "gamma", x, ctx)
        f = field(x + mu * state)
        v = begin(self.start, beta * state + gamma * f, f, ctx)
        direction = v if self.norm == "none" else layer_norm(v, ctx.parameters["velocity_norm"])
        if self.norm == "overwrite":
            v = direction
        return Impulse(direction=direction, increment=f, velocity=v), v
