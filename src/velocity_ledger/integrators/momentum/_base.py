"""The momentum axis: from the field's output to the direction of the step."""

from typing import Any, ClassVar, NamedTuple

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

    @property
    def invertible(self) -> bool:
        """Whether position and state before an update follow from those after it."""
        return False

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

    def update(self, field: Field, x: Any, state: Any, ctx: Context) -> tuple[Impulse, Any]:
        """Evaluate the field and return the direction of the step and the new state."""
        raise NotImplementedError(f"{type(self).__name__} must define update")
