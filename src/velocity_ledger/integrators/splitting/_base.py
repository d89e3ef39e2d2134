"""The splitting axis: from the fields of a layer to its sub-updates."""

from collections.abc import Mapping
from typing import ClassVar

from velocity_ledger.integrators._contract import Field
from velocity_ledger.integrators._value import Value


class Splitting(Value):
    """How a layer of several fields is cut into sub-updates, in the order they are run.

    The stream moves under the sum of a layer's fields; a splitting says how the pieces of that sum
    take turns. `fields` names what a layer has, in the order the model makes them; a field that
    two sub-updates share is named once. `kinds` names the sub-updates.
    """

    fields: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[tuple[str, ...]] = ()

    order: ClassVar[int | None] = None
    """The order for the flow of the sum of its sub-updates' fields; None where none is said."""

    @property
    def evaluated(self) -> tuple[str, ...]:
        """The fields that one pass through a layer evaluates, as often as it does."""
        return self.fields

    def arrange(self, fields: Mapping[str, Field]) -> tuple[Field, ...]:
        """Return the sub-updates' fields, one for each of `kinds`."""
        raise NotImplementedError(f"{type(self).__name__} must define arrange")
