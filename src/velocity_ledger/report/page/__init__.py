"""One HTML file that answers, shows and proves, from a bundle alone."""

from typing import TYPE_CHECKING

from velocity_ledger._lazy import lazy

if TYPE_CHECKING:
    from velocity_ledger.report.page._write import write_page as write_page

__getattr__, __dir__, __all__ = lazy(__name__, {"write_page": "_write"})
