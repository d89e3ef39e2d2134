"""Say what each variant is and costs."""

import dataclasses as dc
import json as _json
from collections.abc import Sequence
from typing import Any

from velocity_ledger._table import aligned
from velocity_ledger.cli.verbs._settings import Flag, Settings, need_device
from velocity_ledger.experiment._config import FOUR, PRESETS, ExperimentConfig


@dc.dataclass(frozen=True, kw_only=True)
class Describe(Settings):
    """Say what each variant is and costs: configuration, parameters, FLOPs, estimated memory.

    For example:
        velocity-ledger describe --preset paper --json
    """

    variants: tuple[str, ...] = FOUR
    """Text forms: `ledger`, `ledger(mu=.95)`, `./mine.py:Mine`."""
    json: Flag = False
    """Strict JSON instead of a table."""

    def experiment(self) -> ExperimentConfig:
        """The experiment these options name."""
        base = PRESETS[self.preset]
        return dc.replace(base, model=self.model, training=self.training, variants=self.variants)

    def call(self, command: Sequence[str]) -> int:
        del command
        need_device(self.device)
        from velocity_ledger.experiment import describe

        rows = describe(self.experiment())
        print(_json.dumps(rows, indent=2, allow_nan=False) if self.json else _described(rows))
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
        "back. Memory: an estimate for training, see `--json` for its formula.",
    ]
    return "\n".join([shape, "", aligned(lines), "", *about, "", *notes])
