"""List every integrator that has a name."""

import dataclasses as dc
import json as _json
import re
from collections.abc import Sequence

from velocity_ledger._table import aligned
from velocity_ledger.cli.verbs._settings import Flag, Settings, need_device
from velocity_ledger.experiment._config import PRESETS


@dc.dataclass(frozen=True, kw_only=True)
class List(Settings):
    """List every named integrator: its axes, what it learns and costs, and where it comes from.

    Parameters, FLOPs and memory are those of the preset's model, beside plain's.

    For example:
        velocity-ledger list --preset paper
    """

    json: Flag = False
    """Strict JSON instead of a table."""

    def call(self, command: Sequence[str]) -> int:
        del command
        need_device(self.device)
        from velocity_ledger.experiment import describe, named_variants

        base = dc.replace(PRESETS[self.preset], model=self.model, training=self.training)
        rows = describe(dc.replace(base, variants=named_variants()))
        if self.json:
            print(_json.dumps(rows, indent=2, allow_nan=False))
            return 0
        plain = rows[0]
        lines: list[tuple[str, ...]] = [
            ("name", "momentum", "geometry", "step scale", "splitting", "learns",
             "parameters more", "FLOPs", "memory", "invertible", "source")
        ]  # fmt: skip
        for row in rows:
            cut = row["composition"]
            more = row["parameters"] - plain["parameters"]
            lines.append(
                (
                    row["variant"],
                    *(_short(cut.get(a)) for a in ("momentum", "geometry", "step_scale")),
                    _short(cut.get("splitting")),
                    ", ".join(row["learned"]) or "-",
                    f"{more:+,}" if more else "-",
                    f"{row['flops_per_step'] / plain['flops_per_step']:.2f} x",
                    f"{row['memory_bytes'] / 2**20:,.0f} MiB",
                    "yes" if row["invertible"] else "no",
                    ", ".join(re.findall(r"@\w+\{(\w+),", "".join(row["sources"]))) or "-",
                )
            )
        print(aligned(lines, left=6))
        return 0


def _short(part: str | None) -> str:
    """A part without its arguments, but for those that make it another."""
    return "its own" if part is None else part.partition("(")[0]
