"""Compile time, step and memory from 6 to 96 layers, unrolled and scanned, at batch 16.

Unrolled up to 24 layers: more take a compiler minutes. Scanned layers are one program however many
there are; how nearly, is measured apart: the shallowest and the deepest are compiled anew, from the
trace on, in alternating rounds.
"""

from typing import Any

from benchmarks import figures, words
from benchmarks.bench import Bench

BATCH = 16
FORMS = {"unrolled": False, "scanned": True}
MOST_UNROLLED = 24
WHAT = ("compile s", "step s", "peak GB")


def measure(bench: Bench) -> dict[str, Any]:
    """For each depth, both forms in alternating rounds; then compiling alone, in rounds."""
    depths = (1, 2) if bench.quick else (6, 24, 96)
    cases = []
    for layers in depths:
        made = [
            bench.ours(f"{form}-{layers}", "ours:Training", _shape(bench, layers), scan=scan)
            for form, scan in FORMS.items()
            if scan or layers <= MOST_UNROLLED
        ]
        rows = bench.alternate(f"depth, {layers} layers", made, rounds=3, steps=1)
        cases.append({"layers": layers, "batch": _shape(bench, layers).batch, "rows": rows})
    made = [
        bench.ours(f"compiling-{layers}", "ours:Compiling", _shape(bench, layers), scan=True)
        for layers in (depths[0], depths[-1])
    ]
    compiling = bench.alternate("depth, compiling", made, rounds=3, steps=1)
    return {"cases": cases, "compiling": compiling}


def _shape(bench: Bench, layers: int) -> Any:
    return bench.shape(layers=layers, batch=4 if bench.quick else BATCH)


def told(found: dict[str, Any]) -> str:
    """One table: a line for each depth; and what deepest and shallowest take to compile."""
    lines, failed = [], []
    for case in found["cases"]:
        rows = case["rows"]
        known = figures.by_name(rows)
        line = [str(case["layers"])]
        for form in FORMS:
            row = known.get(f"{form}-{case['layers']}")
            line += [
                words.seconds(figures.compile_s(row) if row else None),
                words.seconds(figures.step_s(row) if row else None),
                words.gigabytes(row["peak_bytes"] if row else None),
            ]
        lines.append(line)
        failed += words.failures(rows, lambda row: row["name"])
    head = [f"{form} {what}" for form in FORMS for what in WHAT]
    parts = [words.table(("layers", *head), lines)]
    compiling = found["compiling"]
    failed += words.failures(compiling, lambda row: row["name"])
    if all(row["error"] is None for row in compiling):
        few, many = compiling
        ratio = words.ratio(figures.times_as_fast(few, many), spread=True)
        parts.append(
            f"Scanned, {found['cases'][-1]['layers']} layers compile in "
            f"{words.seconds(figures.step_s(many))} s, {ratio} times the "
            f"{words.seconds(figures.step_s(few))} s of {found['cases'][0]['layers']}."
        )
    return "\n".join([*parts, *failed])
