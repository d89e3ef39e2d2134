"""Write a run's page."""

import dataclasses as dc
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from velocity_ledger.cli import _interrupts
from velocity_ledger.cli.verbs._verb import Verb


@dc.dataclass(frozen=True, kw_only=True)
class Report(Verb):
    """Write a run's page: one HTML file, from its folder alone, that needs no network.

    For example:
        velocity-ledger report runs/quick
    """

    run: Annotated[Path, tyro.conf.Positional]
    """The run's folder."""
    out: Path | None = None
    """The file; by default `report.html` in the run's folder."""

    def call(self, command: Sequence[str]) -> int:
        del command
        from velocity_ledger.report import write_page

        # Writing leaves no half a file behind.
        with _interrupts.raised():
            print(write_page(self.run, self.out))
        return 0
