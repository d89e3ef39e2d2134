"""The geometry axis: the space in which the stream moves."""

from typing import Any, ClassVar

from velocity_ledger.integrators._value import Value


class Geometry(Value):
    """Where the stream lives and how a proposed step is written to it."""

    pre_norm: ClassVar[bool] = True
    """Whether the fields normalise the stream that they read."""

    curved: ClassVar[bool] = False
    """Whether a sum of positions and vectors can lie outside the space."""

    invertible: ClassVar[bool] = False
    """Whether the step can be taken back from the new position."""

    adds: ClassVar[bool] = False
    """Whether the increments are the field's outputs, and a step is written by adding it."""

    def start(self, x0: Any) -> Any:
        """Return the embedding placed in the space."""
        return x0

    def pull(self, x: Any, f: Any) -> Any:
        """Return what the field's output f means at x: the increment that momentum gathers."""
        del x
        return f

    def push(self, x: Any, increment: Any) -> Any:
        """Return an output that `pull` reads at x as an increment of this length.

        It points along `increment` as far as the geometry allows. With unrelated increments of
        measured lengths it is what the null model feeds.
        """
        del x
        return increment

    def transport(self, x: Any, memory: Any) -> Any:
        """Return a vector that momentum remembers, as it stands at the new position x."""
        del x
        return memory

    def constraint(self, x: Any) -> Any:
        """Return what vanishes where x lies in the space; None where all of x is allowed."""
        del x
        return None

    def move(self, x: Any, step: Any) -> tuple[Any, Any]:
        """Return the new position and the realised step."""
        raise NotImplementedError(f"{type(self).__name__} must define move")
