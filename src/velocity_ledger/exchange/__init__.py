"""Runs that go out to, and come in from, files of other programs; and two runs told apart."""

from typing import TYPE_CHECKING

from velocity_ledger._lazy import lazy

if TYPE_CHECKING:
    from velocity_ledger.exchange._compare import compare_bundles as compare_bundles
    from velocity_ledger.exchange._export import (
        Exported as Exported,
        export_published as export_published,
    )
    from velocity_ledger.exchange._import import (
        Imported as Imported,
        import_published as import_published,
    )
    from velocity_ledger.exchange._told import told as told

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "Exported": "_export",
        "Imported": "_import",
        "compare_bundles": "_compare",
        "export_published": "_export",
        "import_published": "_import",
        "told": "_told",
    },
)
