"""The default measurement against a run of the default schedule, and its memory.

Memory is measured at 24 layers and batch 64, against a forward pass of the same.
"""

from typing import Any

from benchmarks import figures, words
from benchmarks.bench import Bench

DEEP, BATCH = 24, 64


def measure(bench: Bench) -> dict[str, Any]:
    """Seconds of a measurement and of a step, in rounds; then three peaks of memory."""
    shape = bench.shape()
    timed = bench.alternate(
        "telemetry",
        [
            bench.ours("step", "ours:Training", shape, title="a training step"),
            bench.ours("measurement", "ours_other:Telemetry", shape, title="a measurement"),
        ],
        rounds=5,
        steps=3,
    )
    deep = bench.shape(layers=4 if bench.quick else DEEP, batch=8 if bench.quick else BATCH)
    at_once = {"windows": deep.batch, "at_once": deep.batch}
    peaks = []
    # One after the other: all that is left of such a process would crowd the next.
    for program in (
        bench.ours("forward", "ours_other:Forward", deep, title="a forward pass"),
        bench.ours(
            "parts",
            "ours_other:Telemetry",
            deep,
            windows=deep.batch,
            title="a measurement, 8 windows at once",
        ),
        bench.ours(
            "whole", "ours_other:Telemetry", deep, title="a measurement, all at once", **at_once
        ),
    ):
        peaks += bench.alternate("telemetry, memory", [program], rounds=1, steps=1)
    return {
        "rows": timed,
        "percent_of_a_run": percent(timed),
        "memory": {"layers": deep.layers, "batch": deep.batch, "rows": peaks},
    }


def percent(rows: list[dict[str, Any]]) -> dict[str, float] | None:
    """What the measurements of the default schedule take of its steps, with and without compiling.

    Steps alone are counted: validation and saving would make the share smaller.
    """
    known = figures.by_name(rows)
    if {"step", "measurement"} - set(known):
        return None
    one, facts = known["measurement"], known["measurement"]["facts"]
    run = facts["of_steps"] * (figures.step_s(known["step"]) or 0.0)
    taken = facts["measurements"] * (figures.step_s(one) or 0.0)
    compiled = taken + (figures.compile_s(one) or 0.0)
    return {"compiled_before": 100 * taken / run, "with_compiling": 100 * compiled / run}


def told(found: dict[str, Any]) -> str:
    """Two tables."""
    head = ("program", "seconds", "compile s", "peak GB")
    lines = [
        [
            row["title"],
            words.seconds(figures.step_s(row)),
            words.seconds(figures.compile_s(row)),
            words.gigabytes(row["peak_bytes"]),
        ]
        for row in found["rows"]
        if row["error"] is None
    ]
    parts = [words.table(head, lines)]
    share = found["percent_of_a_run"]
    if share is not None:
        facts = figures.by_name(found["rows"])["measurement"]["facts"]
        parts.append(
            f"{facts['measurements']} measurements take {share['compiled_before']:.3f} % of "
            f"{facts['of_steps']:,} steps, with compiling {share['with_compiling']:.3f} %."
        )
    memory = found["memory"]
    rows = [row for row in memory["rows"] if row["error"] is None]
    first = next((row["peak_bytes"] for row in rows if row["name"] == "forward"), None)
    lines = [
        [
            row["title"],
            words.gigabytes(row["peak_bytes"]),
            words.gigabytes(row["bytes_before"]),
            f"{row['peak_bytes'] / first:.2f}" if first and row["peak_bytes"] else words.NONE,
        ]
        for row in rows
    ]
    where = f"{memory['layers']} layers, batch {memory['batch']}"
    parts.append(words.table((where, "peak GB", "before GB", "to the forward pass"), lines))
    failed = words.failures([*found["rows"], *memory["rows"]], lambda row: row["title"])
    return "\n".join([*parts, *failed])
