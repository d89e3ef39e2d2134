"""The flat space: steps are added."""

from typing import Any, ClassVar

from velocity_ledger.integrators.geometry._base import Geometry


class Flat(Geometry):
    """Write a step by adding it: `x' = x + step`."""

    invertible: ClassVar[bool] = True
    adds: ClassVar[bool] = True

    def move(self, x: Any, step: Any) -> tuple[Any, Any]:
        moved = x + step
        return moved, moved - x
