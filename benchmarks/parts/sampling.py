"""New tokens a second: inside the context from one token on, and past it."""

from typing import Any

from benchmarks import figures, words
from benchmarks.bench import Bench
from benchmarks.parts import _rates


def measure(bench: Bench) -> dict[str, Any]:
    """Raw rounds of `generate`, one row at a time."""
    shape = bench.shape()
    made = [
        bench.ours(
            f"{name}-{where}",
            "ours_other:Sampling",
            shape,
            variant=name,
            past=where == "past",
            title=f"{name}, {'past' if where == 'past' else 'inside'} the context",
        )
        for name in ("plain", "ledger")
        for where in ("inside", "past")
    ]
    return {"rows": bench.alternate("sampling", made, rounds=3, steps=2)}


def told(found: dict[str, Any]) -> str:
    """One table, and how the two compare."""
    known = figures.by_name(found["rows"])
    notes = words.failures(found["rows"], _rates.title)
    for name in ("plain", "ledger"):
        rates = [
            figures.tokens_per_second(known[key])
            for key in (f"{name}-inside", f"{name}-past")
            if key in known
        ]
        if len(rates) == 2 and all(rates):
            inside, past = (rate or 0.0 for rate in rates)
            notes.append(f"{name}: inside the context {inside / past:.1f} times as fast as past it")
    return "\n".join([_rates.table("sampling", found["rows"]), *notes])
