"""The papers that a run stands on."""

import dataclasses as dc
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from velocity_ledger.cli.verbs._verb import Verb


@dc.dataclass(frozen=True, kw_only=True)
class Cite(Verb):
    """Print BibTeX for every integrator of a run, each paper once.

    For example:
        velocity-ledger cite runs/quick
    """

    run: Annotated[Path, tyro.conf.Positional]
    """The run's folder."""

    def call(self, command: Sequence[str]) -> int:
        del command
        import sys

        from velocity_ledger.experiment import open_bundle, sources_of_text

        found: dict[str, None] = {}
        for variant in open_bundle(self.run).variants:
            sources = sources_of_text(variant["text"])
            found |= dict.fromkeys(sources)
            if not sources:
                print(f"{variant['text']}: no paper is known", file=sys.stderr)
        print("\n\n".join(found))
        return 0
