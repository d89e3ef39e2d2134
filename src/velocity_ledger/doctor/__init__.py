"""What is installed here, whether it fits together, and the command that mends it.

Nothing of JAX is imported in this process, since it may be what is broken.
"""

from typing import TYPE_CHECKING

from velocity_ledger._lazy import lazy

if TYPE_CHECKING:
    from velocity_ledger.doctor._check import Check as Check, Status as Status
    from velocity_ledger.doctor._examine import examine as examine
    from velocity_ledger.doctor._misfit import misfit as misfit

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {"Check": "_check", "Status": "_check", "examine": "_examine", "misfit": "_misfit"},
)
