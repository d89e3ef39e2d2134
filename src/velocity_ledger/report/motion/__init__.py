"""Moving pictures of a run, from its bundle alone."""

from typing import TYPE_CHECKING

from velocity_ledger._lazy import lazy

if TYPE_CHECKING:
    from velocity_ledger.report.motion._write import (
        not_drawn as not_drawn,
        write_animations as write_animations,
    )

__getattr__, __dir__, __all__ = lazy(
    __name__, {"not_drawn": "_write", "write_animations": "_write"}
)
