"""Three seeds stacked, and one after the other: three shapes.

A step is one of every seed. As `compare` does, small models take many steps a call.
"""

from typing import Any

from benchmarks import figures, words
from benchmarks.bench import Bench

SEEDS = 3
TINY = {"layers": 2, "width": 32, "heads": 2, "hidden": 64, "context": 32, "batch": 8}
QUICK = {"width": 128, "hidden": 512, "batch": 16}
SHAPES: dict[str, tuple[dict[str, int], int, int]] = {
    "preset smoke": (TINY, 64, 3),
    "preset quick": (QUICK, 1, 3),
    "preset paper": ({}, 1, 1),
}
"""Sizes, steps a call, runs a round."""


def measure(bench: Bench) -> dict[str, Any]:
    """For each shape, both ways in alternating rounds."""
    cases = []
    for name, (sizes, chunk, runs) in SHAPES.items():
        shape = bench.shape() if bench.quick else bench.shape(**sizes)
        made = [
            bench.ours(
                "stacked" if stacked else "alone",
                "ours:Seeds",
                shape,
                seeds=SEEDS,
                stacked=stacked,
                chunk=2 if bench.quick else chunk,
            )
            for stacked in (False, True)
        ]
        rows = bench.alternate(f"seeds, {name}", made, rounds=3, steps=runs)
        cases.append({"shape": name, "seeds": SEEDS, "rows": rows})
        if bench.quick:
            break
    return {"cases": cases}


def told(found: dict[str, Any]) -> str:
    """One table: a line for each shape."""
    lines, failed = [], []
    for case in found["cases"]:
        known = figures.by_name(case["rows"])
        alone, stacked = known.get("alone"), known.get("stacked")
        line = [case["shape"]]
        for row in (alone, stacked):
            line += [
                words.count(figures.tokens_per_second(row) if row else None),
                words.seconds(figures.compile_s(row) if row else None),
                words.gigabytes(row["peak_bytes"] if row else None),
            ]
        line.append(words.ratio(figures.times_as_fast(stacked, alone) if stacked else None, True))
        lines.append(line)
        failed += words.failures(case["rows"], lambda row: row["name"])
    head = [
        f"{way} {what}"
        for way in ("one by one", "stacked")
        for what in ("tokens/s", "compile s", "peak GB")
    ]
    return "\n".join([words.table((f"{SEEDS} seeds", *head, "times as fast"), lines), *failed])
