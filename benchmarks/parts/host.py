"""What the host does for a step: where windows begin, and a call of many steps handed over."""

from typing import Any

from benchmarks import figures, words
from benchmarks.bench import Bench

VARIANTS = ("plain", "ledger", "ngpt-ledger")


def measure(bench: Bench) -> dict[str, Any]:
    """Calls whose starts are those of as many steps as fit, and of which the device takes none."""
    made = [bench.ours(name, "ours:Host", bench.shape(), variant=name) for name in VARIANTS]
    return {"rows": bench.alternate("host", made, rounds=3, steps=20)}


def told(found: dict[str, Any]) -> str:
    """One table."""
    lines = [
        [row["title"], words.count(1e6 * seconds), words.count(row["chunk"])]
        for row in found["rows"]
        if row["error"] is None and (seconds := figures.step_s(row)) is not None
    ]
    failed = words.failures(found["rows"], lambda row: row["title"])
    return "\n".join([words.table(("host", "microseconds a step", "steps a call"), lines), *failed])
