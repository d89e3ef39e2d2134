"""Two evaluations of a field with learned weights."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from velocity_ledger.integrators._contract import Context, Field, Parameter, scalar
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.coefficient import Learned, Number, declare, evaluate
from velocity_ledger.integrators.momentum._base import Impulse
from velocity_ledger.integrators.momentum._runge_kutta import Staged


class TwoStage(Staged):
    """Add the field here and one step ahead, each with a weight of its own.

        f1 = f(x);  f2 = f(x + h f1);  direction = first f1 + second f2

    first = second = 1/2 is Heun's rule. ODE Transformer learns both from 1, so that it starts with
    twice Heun's step (Li et al. 2022, arXiv 2203.09176); whether one pair serves all its layers
    could not be confirmed, here each sub-update has its own.
    """

    evaluations: ClassVar[int] = 2

    first: Number = Learned(1.0, "identity")
    second: Number = Learned(1.0, "identity")
    h: Scalar = 1.0

    def order(self, h: Any) -> int | None:
        """2 where both halves are fixed, as Heun's are."""
        fixed = all(isinstance(n, (int, float)) and n == 0.5 for n in (self.first, self.second))
        return 2 if fixed and bool(h == self.h) else None

    def parameters(self, width: int) -> dict[str, Parameter]:
        del width
        return declare(first=self.first, second=self.second)

    def update(self, field: Field, x: Any, state: Any, ctx: Context) -> tuple[Impulse, Any]:
        here = field(x)
        there = field(x + scalar(self.h, x) * here)
        mixed = evaluate(self.first, "first", x, ctx) * here
        mixed = mixed + evaluate(self.second, "second", x, ctx) * there
        return Impulse(direction=mixed, increment=mixed), state


class GatedTwoStage(Staged):
    """Mix the field here and one step ahead by a gate that reads both.

        f1 = f(x);  f2 = f(x + h f1);  g = sigmoid(w [f1; f2] + b)
        direction = g f1 + (1 - g) f2

    g is one number a token; w and b are shared by all layers (ODE Transformer, Li et al. 2022,
    arXiv 2203.09176). Their start could not be confirmed: here it is zero, where the gate is 1/2
    and the rule is Heun's.
    """

    evaluations: ClassVar[int] = 2

    h: Scalar = 1.0

    def parameters(self, width: int) -> dict[str, Parameter]:
        return {
            "gate": Parameter((2 * width,), 0.0, "model"),
            "gate_bias": Parameter((), 0.0, "model"),
        }

    def update(self, field: Field, x: Any, state: Any, ctx: Context) -> tuple[Impulse, Any]:
        here = field(x)
        there = field(x + scalar(self.h, x) * here)
        both = jnp.concatenate([here, there], -1).astype(jnp.float32)
        read = jnp.sum(both * ctx.parameters["gate"], -1, keepdims=True)
        g = jax.nn.sigmoid(read + ctx.parameters["gate_bias"]).astype(x.dtype)
        mixed = g * here + (1 - g) * there
        return Impulse(direction=mixed, increment=mixed), state
