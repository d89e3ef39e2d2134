"""Write a run in another program's layout."""

import dataclasses as dc
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro

from velocity_ledger.cli import _interrupts
from velocity_ledger.cli.verbs._verb import Verb


@dc.dataclass(frozen=True, kw_only=True)
class Export(Verb):
    """Write a run in the published layout, one npz and one JSON, and say what that loses.

    The layout holds means over the probe's tokens: norms, step lengths, turning angles, velocities
    and steps before the retraction at every checkpoint, both losses, and a summary of every run.

    For example:
        velocity-ledger export runs/quick --out published
    """

    run: Annotated[Path, tyro.conf.Positional]
    """The run's folder."""
    out: Path
    """The folder for the two files."""
    format: Literal["published"] = "published"
    """The layout of the files that came with the article."""

    def call(self, command: Sequence[str]) -> int:
        del command
        from velocity_ledger.exchange import export_published

        with _interrupts.raised():
            found = export_published(self.run, self.out)
        for path in found.files:
            print(path)
        print(f"{found.arrays:,} arrays")
        if found.lost:
            print("lost, since the layout has no place for it:")
        for line in found.lost:
            print(f"  {line}")
        return 0
