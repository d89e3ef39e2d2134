"""The default measurement against a run of the default schedule, and its memory.

So for the published run, and for the preset that a newcomer gets, which measures more often in far
fewer steps. Memory is measured at 24 layers and batch 64, against a forward pass of the same.
"""

from typing import Any

from benchmarks import figures, words
from benchmarks.bench import Bench
from benchmarks.shape import Shape
from velocity_ledger.experiment._config import PRESETS

DEEP, BATCH = 24, 64
RUNS = ("paper", "quick")
"""Presets."""
WINDOWS = "windows at once"


def measure(bench: Bench) -> dict[str, Any]:
    """Seconds of a measurement and of a step, in rounds; then three peaks of memory."""
    made = []
    for preset in RUNS:
        shape = bench.shape() if bench.quick else _shape(preset)
        made += [
            bench.ours(
                f"{preset}-step", "ours:Training", shape, title=f"{preset}: a training step"
            ),
            bench.ours(
                f"{preset}-measurement",
                "ours_other:Telemetry",
                shape,
                preset=preset,
                title=f"{preset}: a measurement",
            ),
        ]
    timed = bench.alternate("telemetry", made, rounds=3, steps=3)
    deep = bench.shape(layers=4 if bench.quick else DEEP, batch=8 if bench.quick else BATCH)
    windows = {"windows": deep.batch}
    peaks = []
    # One after the other: all that is left of such a process would crowd the next.
    for program in (
        bench.ours("forward", "ours_other:Forward", deep, title="a forward pass"),
        bench.ours("parts", "ours_other:Telemetry", deep, title="a measurement", **windows),
        bench.ours(
            "whole",
            "ours_other:Telemetry",
            deep,
            title="the same",
            at_once=deep.batch,
            **windows,
        ),
    ):
        peaks += bench.alternate("telemetry, memory", [program], rounds=1, steps=1)
    return {
        "rows": timed,
        "percent_of_a_run": {preset: percent(timed, preset) for preset in RUNS},
        "memory": {"layers": deep.layers, "batch": deep.batch, "rows": peaks},
    }


def _shape(preset: str) -> Shape:
    model, training = PRESETS[preset].model, PRESETS[preset].training
    names = ("context", "width", "heads", "hidden", "layers", "dropout")
    return Shape(batch=training.batch, **{name: getattr(model, name) for name in names})


def percent(rows: list[dict[str, Any]], preset: str) -> dict[str, float] | None:
    """What the measurements of a preset take of its steps, with and without compiling.

    Steps alone are counted: validation and saving would make the share smaller.
    """
    known = figures.by_name(rows)
    step, one = (known.get(f"{preset}-{what}") for what in ("step", "measurement"))
    if step is None or one is None:
        return None
    facts = one["facts"]
    run = facts["of_steps"] * (figures.step_s(step) or 0.0)
    taken = facts["measurements"] * (figures.step_s(one) or 0.0)
    compiled = taken + (figures.compile_s(one) or 0.0)
    return {"compiled_before": 100 * taken / run, "with_compiling": 100 * compiled / run}


def _windows(row: figures.Row) -> str:
    """How many windows a measurement has in the model at once, of how many."""
    facts = row["facts"]
    if "windows_at_once" not in facts:
        return words.NONE
    return f"{facts['windows_at_once']} of {facts['windows']}"


def told(found: dict[str, Any]) -> str:
    """Two tables."""
    head = ("telemetry", WINDOWS, "seconds", "compile s", "peak GB")
    lines = [
        [
            row["title"],
            _windows(row),
            words.seconds(figures.step_s(row)),
            words.seconds(figures.compile_s(row)),
            words.gigabytes(row["peak_bytes"]),
        ]
        for row in found["rows"]
        if row["error"] is None
    ]
    parts = [words.table(head, lines)]
    for preset, share in found["percent_of_a_run"].items():
        if share is not None:
            facts = figures.by_name(found["rows"])[f"{preset}-measurement"]["facts"]
            parts.append(
                f"{preset}: {facts['measurements']} measurements take "
                f"{share['compiled_before']:.3f} % of {facts['of_steps']:,} steps, "
                f"with compiling {share['with_compiling']:.3f} %."
            )
    memory = found["memory"]
    rows = [row for row in memory["rows"] if row["error"] is None]
    first = next((row["peak_bytes"] for row in rows if row["name"] == "forward"), None)
    lines = [
        [
            row["title"],
            _windows(row),
            words.gigabytes(row["peak_bytes"]),
            words.gigabytes(row["bytes_before"]),
            f"{row['peak_bytes'] / first:.2f}" if first and row["peak_bytes"] else words.NONE,
        ]
        for row in rows
    ]
    where = f"{memory['layers']} layers, batch {memory['batch']}"
    head = (where, WINDOWS, "peak GB", "before GB", "to the forward pass")
    parts.append(words.table(head, lines))
    failed = words.failures([*found["rows"], *memory["rows"]], lambda row: row["title"])
    return "\n".join([*parts, *failed])
