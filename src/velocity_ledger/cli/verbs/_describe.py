"""Say what each variant is and costs."""

import dataclasses as dc
import json as _json
from collections.abc import Sequence
from typing import Annotated, Any

import tyro

from velocity_ledger._table import aligned
from velocity_ledger.cli.verbs._settings import Flag, Settings, need_device
from velocity_ledger.errors import UserError
from velocity_ledger.experiment._config import FOUR, PRESETS, ExperimentConfig


@dc.dataclass(frozen=True, kw_only=True)
class Describe(Settings):
    """Say what each variant is and costs: configuration, parameters, FLOPs, estimated memory.

    Named ones in full: equation, what is learned, cost beside plain's, how much of every push
    arrives at the end of the stream, and BibTeX.

    For example:
        velocity-ledger describe ledger "nesterov(mu=.95)"
        velocity-ledger describe --preset paper --json
    """

    names: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Text forms to describe in full: `ledger`, `ledger(mu=.95)`, `./mine.py:Mine`."""
    variants: tuple[str, ...] = FOUR
    """Text forms to compare in a table."""
    json: Flag = False
    """Strict JSON instead of text."""

    def experiment(self) -> ExperimentConfig:
        """The experiment these options name."""
        base = PRESETS[self.preset]
        if self.names and self.variants != base.variants:
            raise UserError("give names to describe them in full, or --variants for a table")
        variants = self.names or self.variants
        return dc.replace(base, model=self.model, training=self.training, variants=variants)

    def call(self, command: Sequence[str]) -> int:
        del command
        config = self.experiment()
        need_device(self.device)
        from velocity_ledger.experiment import describe, describe_in_full

        rows = describe_in_full(config) if self.names else describe(config)
        if self.json:
            print(_json.dumps(rows, indent=2, allow_nan=False))
        elif self.names:
            from velocity_ledger.cli._card import card

            print("\n\n".join(map(card, rows)))
        else:
            print(_described(rows))
        return 0


def _described(rows: Sequence[dict[str, Any]]) -> str:
    first = rows[0]
    shape = (
        "{layers} layers of width {width}, {heads} heads, {hidden} hidden units, context "
        "{context}, {vocabulary} characters; {steps:,} steps of {batch} windows"
    ).format(**first)
    lines = [("variant", "parameters", "own", "FLOPs a token", "FLOPs a step", "memory")]
    for row in rows:
        lines.append(
            (
                row["variant"],
                f"{row['parameters']:,}",
                f"{row['integrator_parameters']:,}",
                f"{row['flops_per_token_forward']:.3g}",
                f"{row['flops_per_step']:.3g}",
                f"{row['memory_bytes'] / 2**20:,.0f} MiB",
            )
        )
    about = [f"{row['variant']}: {row['description']}" for row in rows]
    notes = [
        "own: parameters the integrator itself learns. FLOPs: a token forward, a step forward and",
        "back, without what the integrator itself computes. Memory: an estimate for training, see",
        "`--json` for its formula.",
    ]
    return "\n".join([shape, "", aligned(lines), "", *about, "", *notes])
