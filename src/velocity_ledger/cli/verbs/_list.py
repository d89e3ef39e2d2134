"""List every integrator that has a name."""

import dataclasses as dc
import json as _json
import re
from collections.abc import Sequence
from typing import Any

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
        print(_listed(rows, _families()))
        return 0


def _families() -> dict[str, list[str]]:
    """The names, by the axis that they are about, and those of more than an integrator."""
    from velocity_ledger.experiment import named_variants
    from velocity_ledger.integrators import FAMILIES, family, names, parse

    found: dict[str, list[str]] = {axis: [] for axis in FAMILIES}
    for name in names():
        found[family(parse(name))].append(name)
    found["with blocks and training of their own"] = [
        name for name in named_variants() if name not in names()
    ]
    return {axis: mine for axis, mine in found.items() if mine}


def _listed(rows: Sequence[dict[str, Any]], families: dict[str, list[str]]) -> str:
    by_name = {row["variant"]: row for row in rows}
    plain = by_name["plain"]
    head = ("name", "made of", "learns", "parameters", "FLOPs", "memory", "undone", "source")
    lines: list[tuple[str, ...]] = [head]
    starts: dict[int, str] = {}
    for family, names in families.items():
        starts[len(lines)] = family.replace("_", " ")
        lines += [_line(by_name[name], plain) for name in names]
    text = aligned(lines, left=3).splitlines()
    shown = text[:2]
    for k, row in enumerate(text[2:], start=1):
        if k in starts:
            shown += ["", f"[{starts[k]}]"]
        shown.append(row)
    return "\n".join([*shown, "", *_NOTES])


_SHOWN = 3
_NOTES = (
    "made of: the choices that are not plain's (Euler, flat, h = 1, attention and MLP in turn).",
    "parameters: more than plain's. FLOPs and memory of training: over plain's, FLOPs without what",
    "the integrator itself computes. undone: whether a step can be.",
    "`velocity-ledger describe NAME` tells all of one; `--json` all of all.",
)


def _line(row: dict[str, Any], plain: dict[str, Any]) -> tuple[str, ...]:
    chosen, usual = row["composition"], plain["composition"]
    # An axis that plain does not name is one where it chose nothing.
    other = [
        _short(part, usual.get(axis, ""))
        for axis, part in chosen.items()
        if part != usual.get(axis)
    ]
    more = row["parameters"] - plain["parameters"]
    return (
        row["variant"],
        ", ".join(other) or ("-" if chosen else "its own rule"),
        _few(row["learned"]),
        f"{more:+,}" if more else "-",
        f"{row['flops_per_step'] / plain['flops_per_step']:.2f} x",
        f"{row['memory_bytes'] / plain['memory_bytes']:.2f} x",
        "yes" if row["invertible"] else "no",
        _papers(row["sources"]),
    )


def _short(part: str, usual: str) -> str:
    """A part without its arguments, unless they alone make it another one."""
    name = part.partition("(")[0]
    return name if name != usual.partition("(")[0] else re.sub(r"(\w)\([^()]*\)(?=.)", r"\1", part)


def _few(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" +{len(names) - _SHOWN}" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) or "-") + more


def _papers(sources: Sequence[str]) -> str:
    """The first paper's key, and how many more there are."""
    keys = re.findall(r"@\w+\{(\w+),", "".join(sources))
    return "-" if not keys else keys[0] + (f" +{len(keys) - 1}" if len(keys) > 1 else "")
