"""Validation over the default batches: tokens a second."""

from typing import Any

from benchmarks import words
from benchmarks.bench import Bench
from benchmarks.parts import _rates


def measure(bench: Bench) -> dict[str, Any]:
    """Raw rounds of `evaluate`."""
    shape = bench.shape()
    made = [
        bench.ours(name, "ours_other:Evaluation", shape, variant=name)
        for name in ("plain", "ledger")
    ]
    return {"rows": bench.alternate("evaluation", made, rounds=3, steps=2)}


def told(found: dict[str, Any]) -> str:
    """One table."""
    return "\n".join(
        [_rates.table("evaluation", found["rows"]), *words.failures(found["rows"], _rates.title)]
    )
