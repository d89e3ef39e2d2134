"""From an averaged output to what is read of it."""

from typing import Any, ClassVar

from jaxtyping import Array, Float

from velocity_ledger.integrators._contract import Context, Parameter
from velocity_ledger.integrators._value import Value


class Preconditioner(Value):
    """Read a first moment m through what is known of the outputs g; this one reads it as it is."""

    amplifies: ClassVar[bool] = False
    """Whether it can enlarge rounding a hundredfold."""

    def parameters(self, width: int) -> dict[str, Parameter]:
        """Declare what is learned; raises `UserError` for a width that it cannot read."""
        del width
        return {}

    def init(self, x0: Float[Array, "*batch width"]) -> Any:
        """Return the memory before the first sub-update."""
        del x0
        return ()

    def apply(self, m: Any, g: Any, state: Any, ctx: Context) -> tuple[Any, Any]:
        """Return what is read of m, and the memory after the output g."""
        del g, ctx
        return m, state
