"""What stands where an equation has a scalar."""

from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from velocity_ledger.integrators._contract import Context, Parameter, scalar
from velocity_ledger.integrators._value import Scalar, Value


class Coefficient(Value):
    """A scalar that is learned, drawn, or changes through depth.

    What a composition may ask of it before it has a value: whether it `vanishes`, and whether it
    `contracts`, that is stays below 1 in size.
    """

    @property
    def vanishes(self) -> bool:
        """Whether it can be zero where something was remembered."""
        return True

    @property
    def contracts(self) -> bool:
        """Whether its size is always below 1."""
        return False

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


def vanishes(number: Any) -> bool:
    """Return whether a scalar can be zero; True for a number that is traced."""
    if isinstance(number, Coefficient):
        return number.vanishes
    return isinstance(number, Tracer) or bool(np.any(np.asarray(number) == 0))


def contracts(number: Any) -> bool:
    """Return whether a scalar's size is always below 1; True for a number that is traced."""
    if isinstance(number, Coefficient):
        return number.contracts
    return isinstance(number, Tracer) or bool(np.all(np.abs(np.asarray(number)) < 1))


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
