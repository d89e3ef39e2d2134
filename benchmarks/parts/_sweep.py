"""Ours and the article's way over one size of the network."""

import dataclasses as dc
from collections.abc import Sequence
from typing import Any

from benchmarks import figures, words
from benchmarks.bench import Bench
from benchmarks.shape import Shape


def measure(bench: Bench, what: str, shapes: Sequence[tuple[int, Shape]]) -> dict[str, Any]:
    """For each size, three programs in alternating rounds."""
    cases = []
    for size, shape in shapes:
        made = [
            bench.ours("plain", "ours:Training", shape, variant="plain"),
            bench.ours("ledger", "ours:Training", shape, variant="ledger"),
            bench.others("article", "article:Training", shape, title="the article's way"),
        ]
        rows = bench.alternate(f"{what} {size}", made, rounds=3, steps=3)
        cases.append({what: size, "shape": dc.asdict(shape), "rows": rows})
    return {"cases": cases}


def told(what: str, found: dict[str, Any]) -> str:
    """One table: a line for each size."""
    lines, failed = [], []
    for case in found["cases"]:
        known = figures.by_name(case["rows"])
        article = known.get("article")
        line = [str(case[what]), str(case["shape"]["batch"])]
        for name in ("plain", "ledger"):
            row = known.get(name)
            line += [
                words.count(figures.tokens_per_second(row) if row else None),
                words.ratio(figures.times_as_fast(row, article) if row else None),
                words.gigabytes(row["peak_bytes"] if row else None),
            ]
        line.append(words.count(figures.tokens_per_second(article) if article else None))
        lines.append(line)
        failed += [
            f"{what} {case[what]}, {text}"
            for text in words.failures(case["rows"], lambda row: row["title"])
        ]
    own = [f"{n} {w}" for n in ("plain", "ledger") for w in ("tokens/s", "ratio", "peak GB")]
    head = (what, "batch", *own, "the article's way tokens/s")
    return "\n".join([words.table(head, lines), *failed])
