"""What stands where an equation has a scalar."""

from typing import Any, TypeAlias

import jax.numpy as jnp
from jaxtyping import Array, Float

from velocity_ledger.integrators._contract import Context, Parameter, scalar
from velocity_ledger.integrators._value import Scalar, Value


class Coefficient(Value):
    """A scalar that is learned, drawn, or changes through depth."""

    def parameters(self, name: str) -> dict[str, Parameter]:
        """Declare what is learned for the scalar of this name."""
        del name
        return {}

    def value(self, name: str, x: Float[Array, "*batch width"], ctx: Context) -> Any:
        """Return its value at a sub-update, in float32 and ready to multiply `x`."""
        raise NotImplementedError(f"{type(self).__name__} must define value")

    def held(self, value: float) -> "Coefficient | None":
        """Return it with numbers that give `value` everywhere; None where no numbers do."""
        del value
        return None


Number: TypeAlias = Scalar | Coefficient
"""A fixed number, or a rule that gives one."""


def declare(**scalars: Any) -> dict[str, Parameter]:
    """Return what the given scalars learn, by name."""
    found: dict[str, Parameter] = {}
    for name, value in scalars.items():
        if isinstance(value, Coefficient):
            found |= value.parameters(name)
    return found


def held(number: Any, value: float) -> Any:
    """Return what stands for `value` in the place of a scalar; None where it cannot be held."""
    return number.held(value) if isinstance(number, Coefficient) else value


def evaluate(number: Any, name: str, x: Any, ctx: Context) -> Any:
    """Return a scalar's value at a sub-update, ready to multiply `x`, whose dtype it leaves alone.

    A plain number stays one, so that arithmetic with it is that of the equation as written.
    """
    if isinstance(number, Coefficient):
        return jnp.asarray(number.value(name, x, ctx)).astype(x.dtype)
    return scalar(number, x)
