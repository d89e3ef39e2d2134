"""The still figures of a run, each a matplotlib figure drawn from what `report` read."""

from typing import TYPE_CHECKING

from velocity_ledger._lazy import lazy

if TYPE_CHECKING:
    from velocity_ledger.report.figures._draw import NAMES as NAMES, figures as figures

__getattr__, __dir__, __all__ = lazy(__name__, {"NAMES": "_draw", "figures": "_draw"})
