"""Make a run's folder of another program's files."""

import dataclasses as dc
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from velocity_ledger.cli import _interrupts
from velocity_ledger.cli.verbs._verb import Verb


@dc.dataclass(frozen=True, kw_only=True)
class Import(Verb):
    """Make a run's folder of files in the published layout, which `render` and all else can read.

    An npz, a JSON or both, in any order. What they do not hold is absent, and what could not be
    understood is printed and kept. Nothing in them is executed.

    For example:
        velocity-ledger import results.npz results.json --out runs/published
    """

    files: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """An npz with arrays `VARIANT_sSEED/...`, a JSON with `config` and `runs`, or both."""
    out: Path
    """The folder to make; it must be new, or empty."""

    def call(self, command: Sequence[str]) -> int:
        from velocity_ledger.exchange import import_published
        from velocity_ledger.experiment import open_bundle, table

        with _interrupts.raised():
            found = import_published(self.files, self.out, command)
        print(table(open_bundle(found.path)))
        print(f"\nbundle: {found.path}, {found.cells} cells, {found.arrays:,} arrays read")
        for title, lines in (
            ("taken so", found.notes),
            ("contradictions in the files", found.contradictions),
            ("not understood, and kept in the bundle", found.not_understood),
            ("absent", found.absent),
        ):
            if lines:
                print(f"{title}:")
            for line in lines:
                print(f"  {line}")
        return 0
