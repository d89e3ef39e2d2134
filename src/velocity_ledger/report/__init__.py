"""Figures of a run and its page, from its bundle alone."""

from typing import TYPE_CHECKING

from velocity_ledger._lazy import lazy

if TYPE_CHECKING:
    from velocity_ledger.report._render import render as render
    from velocity_ledger.report.page._write import write_page as write_page

__getattr__, __dir__, __all__ = lazy(__name__, {"render": "_render", "write_page": "page._write"})
