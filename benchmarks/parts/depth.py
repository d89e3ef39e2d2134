"""Compile time, step and memory from 6 to 96 layers, unrolled and scanned, at batch 16."""

from typing import Any

from benchmarks import figures, words
from benchmarks.bench import Bench

BATCH = 16
FORMS = {"unrolled": False, "scanned": True}


def measure(bench: Bench) -> dict[str, Any]:
    """For each depth, both forms in alternating rounds."""
    cases = []
    for layers in (1, 2) if bench.quick else (6, 12, 24, 48, 96):
        shape = bench.shape(layers=layers, batch=4 if bench.quick else BATCH)
        made = [
            bench.ours(f"{form}-{layers}", "ours:Training", shape, scan=scan)
            for form, scan in FORMS.items()
        ]
        rows = bench.alternate(f"depth, {layers} layers", made, rounds=3, steps=2)
        cases.append({"layers": layers, "batch": shape.batch, "rows": rows})
    return {"cases": cases}


def told(found: dict[str, Any]) -> str:
    """One table: a line for each depth."""
    lines, failed = [], []
    for case in found["cases"]:
        rows = case["rows"]
        line = [str(case["layers"])]
        for row in rows:
            whole = row["error"] is None
            line += [
                words.seconds(figures.compile_s(row) if whole else None),
                words.seconds(figures.step_s(row) if whole else None),
                words.gigabytes(row["peak_bytes"] if whole else None),
            ]
        lines.append(line)
        failed += words.failures(rows, lambda row: row["name"])
    head = [f"{form} {what}" for form in FORMS for what in ("compile s", "step s", "peak GB")]
    return "\n".join([words.table(("layers", *head), lines), *failed])
