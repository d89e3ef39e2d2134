"""The momentum axis: from the field's output to the direction of the step."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
from jaxtyping import Array, Float

from velocity_ledger.integrators._contract import Context, Field, Parameter
from velocity_ledger.integrators._value import Value


class Impulse(NamedTuple):
    """The direction of a step, the field's output behind it and the velocity, if there is one."""

    direction: Any
    increment: Any
    velocity: Any = None


class Momentum(Value):
    """How the field's outputs accumulate through depth."""

    evaluations: ClassVar[int] = 1
    """How often one update evaluates its field."""

    remembers: ClassVar[bool] = True
    """Whether anything is kept from one sub-update to the next."""

    per_kind: ClassVar[bool] = False
    """Whether sub-updates of different kinds have memories of their own."""

    @property
    def invertible(self) -> bool:
        """Whether position and state before an update follow from those after it."""
        return False

    @property
    def rests(self) -> bool:
        """Whether a stream without a velocity stays where it is under fields that are zero."""
        return True

    @property
    def amplifies(self) -> bool:
        """Whether an update can enlarge rounding a hundredfold."""
        return False

    @property
    def ahead(self) -> bool:
        """Whether a field is read elsewhere than where the stream is."""
        return False

    @property
    def inner_step(self) -> Any:
        """The step that its own stages assume, or None where it has none."""
        return None

    @property
    def uncoasted(self) -> str:
        """Why `coast` cannot be said, or an empty text where it can."""
        return f"{type(self).__name__} has no velocity to coast along"

    def order(self, h: Any) -> int | None:
        """Return the order of accuracy where all sub-updates have the same field.

        Directions are scaled by h; None where no order is claimed.
        """
        del h
        return None

    def parameters(self, width: int) -> dict[str, Parameter]:
        """Declare what is learned, by name."""
        del width
        return {}

    def as_euler(self) -> "Momentum | None":
        """Return it with numbers for which it is Euler, bit for bit; None where no numbers do."""
        return None

    def init(self, x0: Float[Array, "*batch width"], ctx: Context) -> Any:
        """Return the state before the first sub-update."""
        del x0, ctx
        return ()

    def transport(self, state: Any, move: Callable[[Any], Any]) -> Any:
        """Return the state with every vector of the stream's space moved to the new position."""
        return jax.tree.map(move, state)

    def update(self, field: Field, x: Any, state: Any, ctx: Context) -> tuple[Impulse, Any]:
        """Evaluate the field and return the direction of the step and the new state."""
        raise NotImplementedError(f"{type(self).__name__} must define update")

    def coast(self, state: Any, ctx: Context) -> Any:
        """Return the sum of all later directions if every later field were zero."""
        raise NotImplementedError(f"{type(self).__name__} must define coast")
