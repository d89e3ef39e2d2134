"""Parts measured in an earlier call: kept beside new ones, if all else is as it was."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from velocity_ledger.errors import UserError

SAME = {
    "machine": ("cpu", "cores", "memory_bytes", "system"),
    "library": ("python", "jax", "jaxlib", "flax", "optax", "numpy"),
    "source": ("sources",),
}
"""What decides the figures, and the words for it."""


def parts(path: Path, fresh: Mapping[str, Any]) -> dict[str, Any]:
    """What `path` holds, if it was measured as `fresh` is going to be; nothing if there is none.

    Raises `UserError` for a file of another machine, library or source, smoke-sized or not.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        was, quick = dict(found["machine"]), found["quick"]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{path} is no run of benchmarks: name another file with --out") from None
    now = fresh["machine"]
    told = [
        f"{what} ({_short(was.get(name))}, now {_short(now[name])})"
        for what, names in SAME.items()
        for name in names
        if was.get(name) != now[name]
    ]
    if quick != fresh["quick"]:
        told.append("size (one of them is --quick)")
    if told:
        raise UserError(
            f"{path} holds parts of another {told[0]}: remove it, or name another file with --out"
        )
    return found


def _short(value: object) -> str:
    return "unknown" if value is None else str(value)[:80]
