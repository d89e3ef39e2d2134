"""Figures of a run, from its bundle alone."""

from typing import TYPE_CHECKING

from velocity_ledger._lazy import lazy

if TYPE_CHECKING:
    from velocity_ledger.report._render import render as render

__getattr__, __dir__, __all__ = lazy(__name__, {"render": "_render"})
