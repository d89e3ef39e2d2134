"""Draw a run's figures and animations."""

import dataclasses as dc
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro

from velocity_ledger.cli import _interrupts
from velocity_ledger.cli.verbs._verb import Verb


@dc.dataclass(frozen=True, kw_only=True)
class Render(Verb):
    """Draw a run's figures and animations, from its folder alone.

    A run half done is drawn as far as it got, and what it did not record is left out.

    For example:
        velocity-ledger render runs/quick --formats png
    """

    run: Annotated[Path, tyro.conf.Positional]
    """The run's folder."""
    out: Path | None = None
    """Where the figures go; by default `figures/` in the run's folder."""
    formats: tuple[Literal["png", "svg", "gif"], ...] = ("png", "svg", "gif")
    """File formats: png and svg for the still figures, gif for the animations."""

    def call(self, command: Sequence[str]) -> int:
        del command
        from velocity_ledger.report import render

        # Drawing leaves no half a file behind.
        with _interrupts.raised():
            written = render(self.run, self.out, self.formats)
        for path in written:
            print(path)
        return 0
