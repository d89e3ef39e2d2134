"""A first moment read through a preconditioner: the optimizers' momenta."""

from typing import Any

from jaxtyping import Array, Float

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Field, Parameter
from velocity_ledger.integrators.coefficient import Coefficient, Number, declare, evaluate
from velocity_ledger.integrators.momentum._base import Impulse, Momentum
from velocity_ledger.integrators.momentum._layer_norm import layer_norm
from velocity_ledger.integrators.momentum._start import check_start, declare_start, start_velocity
from velocity_ledger.integrators.preconditioner import Preconditioner, SecondMoment


class Preconditioned(Momentum):
    """Average the field's outputs, precondition the average, normalise what is read of it.

        g = f(x)
        m' = beta1 m + (1 - beta1) g
        u = preconditioner(m', g)
        direction = gamma LN(u) - decay x

    LN is a LayerNorm over the width without bias, with a learned gain that starts at 1, one per
    `norm_per`; `norm=False` leaves it out. m starts as a ledger's velocity does; there is no bias
    correction. With beta1=None there is no first moment, m = g: Adam becomes RMSProp, Muon becomes
    Ortho, the right-hand Shampoo loses its average. `decay` pulls the stream itself towards 0
    (AdamW), and moves it where all fields are 0.

    Source: Gai et al. 2026, arXiv 2605.24425.
    Raises `UserError` for another `norm_per` or `start`, a start without an average, or what is no
    preconditioner.
    """

    start: str = "zero"
    norm: bool = True
    norm_per: str = "sub_update"
    preconditioner: Preconditioner = SecondMoment()
    beta1: Number | None = 0.9
    gamma: Number = 1.0
    decay: Number = 0.0

    def __post_init__(self) -> None:
        check_start(self.start)
        if self.beta1 is None and self.start != "zero":
            raise UserError("without an average there is nothing to start: leave start out")
        if self.norm_per not in ("sub_update", "layer", "model"):
            raise UserError(f"norm_per is sub_update, layer or model, got {self.norm_per!r}")
        if not isinstance(self.preconditioner, Preconditioner):
            raise UserError(
                "a preconditioner is second_moment, orthogonal or right_root, got "
                f"{self.preconditioner!r}"
            )

    @property
    def rests(self) -> bool:
        still = not isinstance(self.decay, Coefficient) and bool(self.decay == 0)
        return still and self.start != "tokens"

    @property
    def amplifies(self) -> bool:
        return self.preconditioner.amplifies

    def parameters(self, width: int) -> dict[str, Parameter]:
        found = declare(gamma=self.gamma, decay=self.decay)
        if self.beta1 is not None:
            found |= declare(beta1=self.beta1)
        found |= self.preconditioner.parameters(width)
        if self.norm:
            per: Any = self.norm_per
            found["direction_norm"] = Parameter(shape=(width,), init=1.0, per=per)
        return found | declare_start(self.start, width)

    def init(self, x0: Float[Array, "*batch width"], ctx: Context) -> Any:
        m = start_velocity(self.start, x0, ctx) if self.beta1 is not None else None
        return m, self.preconditioner.init(x0)

    def transport(self, state: Any, move: Any) -> Any:
        # A second moment is no vector: it stays as it is.
        m, memory = state
        return (move(m) if self.beta1 is not None else None), memory

    def update(self, field: Field, x: Any, state: Any, ctx: Context) -> tuple[Impulse, Any]:
        m, memory = state
        g = field(x)
        if self.beta1 is not None:
            beta = evaluate(self.beta1, "beta1", x, ctx)
            m = beta * m + (1 - beta) * g
        u, memory = self.preconditioner.apply(m if self.beta1 is not None else g, g, memory, ctx)
        if self.norm:
            u = layer_norm(u, ctx.parameters["direction_norm"])
        direction = evaluate(self.gamma, "gamma", x, ctx) * u
        direction = direction - evaluate(self.decay, "decay", x, ctx) * x
        return Impulse(direction=direction, increment=g, velocity=m), (m, memory)
