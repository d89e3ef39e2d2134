"""Draw a run's figures."""

import dataclasses as dc
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro

from velocity_ledger.cli import _interrupts
from velocity_ledger.cli.verbs._verb import Verb


@dc.dataclass(frozen=True, kw_only=True)
class Render(Verb):
    """Draw a run's figures, from its folder alone; a run half done is drawn as far as it got.

    For example:
        velocity-ledger render runs/quick --formats png
    """

    run: Annotated[Path, tyro.conf.Positional]
    """The run's folder."""
    out: Path | None = None
    """Where the figures go; by default `figures/` in the run's folder."""
    formats: tuple[Literal["png", "svg"], ...] = ("png", "svg")
    """File formats."""

    def call(self, command: Sequence[str]) -> int:
        del command
        from velocity_ledger.report import render

        # Drawing leaves no half a file behind.
        with _interrupts.raised():
            written = render(self.run, self.out, self.formats)
        for path in written:
            print(path)
        return 0
