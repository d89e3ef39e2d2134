"""A memory of its own for each kind of sub-update."""

import dataclasses as dc
from typing import Any, ClassVar

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Field, Parameter
from velocity_ledger.integrators.momentum._base import Impulse, Momentum
from velocity_ledger.integrators.momentum._heavy_ball import HeavyBall


class Separate(Momentum):
    """Keep what a momentum remembers once for each kind of sub-update, attention and MLP apart.

    Of a heavy ball, `v_a' = mu v_a + (1 - mu) a(x)` and `x' = x + h v_a'` at attention, `v_m' = mu
    v_m + (1 - mu) m(x)` and `x' = x + h v_m'` at the MLP.

    A velocity remembers L fields of its kind instead of all 2 L, and moves the stream in its own
    sub-updates only. All kinds start alike: a learned start is one for all. With one kind it is the
    shared memory again, bit for bit. (Momentum nets shared one; separate v_A and v_M appear in
    H. Noren's public code, following Stein et al. 2026, arXiv 2603.16535.)

    Raises `UserError` for a momentum that remembers nothing, or is separate already.
    """

    per_kind: ClassVar[bool] = True

    of: Momentum = HeavyBall()

    def __post_init__(self) -> None:
        if not isinstance(self.of, Momentum):
            raise UserError(f"separate keeps a Momentum for each kind, got {self.of!r}")
        if not self.of.remembers:
            raise UserError(
                f"{type(self.of).__name__} keeps no memory that could be separate: leave"
                " separate out"
            )
        if self.of.per_kind:
            raise UserError("a memory is separate once: write separate(heavy_ball())")

    @property
    def evaluations(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As often as the momentum it separates."""
        return self.of.evaluations

    def order(self, h: Any) -> int | None:
        """That of the momentum it separates."""
        return self.of.order(h)

    @property
    def invertible(self) -> bool:
        return self.of.invertible

    @property
    def ahead(self) -> bool:
        return self.of.ahead

    @property
    def inner_step(self) -> Any:
        return self.of.inner_step

    @property
    def uncoasted(self) -> str:
        return self.of.uncoasted

    def parameters(self, width: int) -> dict[str, Parameter]:
        return self.of.parameters(width)

    def init(self, x0: Any, ctx: Context) -> dict[str, Any]:
        return {kind: self.of.init(x0, _own(ctx)) for kind in ctx.kinds}

    def update(self, field: Field, x: Any, state: Any, ctx: Context) -> tuple[Impulse, Any]:
        impulse, mine = self.of.update(field, x, state[ctx.kind], _own(ctx))
        return impulse, {**state, ctx.kind: mine}

    def coast(self, state: Any, ctx: Context) -> Any:
        first, *others = (self.of.coast(state[kind], _own(ctx)) for kind in ctx.kinds)
        return sum(others, first)


def _own(ctx: Context) -> Context:
    return dc.replace(ctx, memory="kind")
