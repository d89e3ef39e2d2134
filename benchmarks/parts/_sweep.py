"""Ours and the article's way over one size of the network."""

import dataclasses as dc
from collections.abc import Sequence
from typing import Any

from benchmarks import figures, words
from benchmarks.bench import Bench
from benchmarks.shape import Shape

BATCH = 16
"""A quarter of the published one: ratios say as much, in a quarter of the time."""


def smaller(bench: Bench, **sizes: Any) -> Shape:
    """The published shape at that batch, with some sizes of its own."""
    return bench.shape(**sizes) if bench.quick else bench.shape(batch=BATCH, **sizes)


def measure(bench: Bench, what: str, shapes: Sequence[tuple[int, Shape]]) -> dict[str, Any]:
    """For each size, three programs in alternating rounds."""
    cases = []
    for size, shape in shapes:
        made = [
            bench.ours("plain", "ours:Training", shape, variant="plain"),
            bench.ours("ledger", "ours:Training", shape, variant="ledger"),
            bench.others("article", "article:Training", shape, title="the article's way"),
        ]
        rows = bench.alternate(f"{what} {size}", made, rounds=3, steps=1)
        cases.append({what: size, "shape": dc.asdict(shape), "rows": rows})
    return {"cases": cases}


def told(what: str, found: dict[str, Any]) -> str:
    """One table: a line for each size."""
    lines, failed = [], []
    for case in found["cases"]:
        known = figures.by_name(case["rows"])
        article = known.get("article")
        rate = figures.tokens_per_second(article) if article else None
        line = [str(case[what]), str(case["shape"]["batch"]), words.count(rate)]
        for name in ("plain", "ledger"):
            row = known.get(name)
            line += [
                words.count(figures.tokens_per_second(row) if row else None),
                words.ratio(figures.times_as_fast(row, article) if row else None, spread=True),
                words.gigabytes(row["peak_bytes"] if row else None),
            ]
        lines.append(line)
        failed += [
            f"{what} {case[what]}, {text}"
            for text in words.failures(case["rows"], lambda row: row["title"])
        ]
    each = ("tokens/s", "to the article's", "peak GB")
    own = [f"{name} {figure}" for name in ("plain", "ledger") for figure in each]
    head = (what, "batch", "the article's way tokens/s", *own)
    return "\n".join([words.table(head, lines), *failed])
