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
    """For each size, plain and the article's way in alternating rounds."""
    cases = []
    for size, shape in shapes:
        made = [
            bench.ours("plain", "ours:Training", shape, variant="plain"),
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
        plain, article = known.get("plain"), known.get("article")
        line = [
            str(case[what]),
            str(case["shape"]["batch"]),
            words.count(figures.tokens_per_second(plain) if plain else None),
            words.ratio(figures.times_as_fast(plain, article) if plain else None, spread=True),
            words.gigabytes(plain["peak_bytes"] if plain else None),
            words.count(figures.tokens_per_second(article) if article else None),
            words.gigabytes(article["peak_bytes"] if article else None),
        ]
        lines.append(line)
        failed += [
            f"{what} {case[what]}, {text}"
            for text in words.failures(case["rows"], lambda row: row["title"])
        ]
    own = ("plain tokens/s", "to the article's way", "plain peak GB")
    head = (what, "batch", *own, "the article's way tokens/s", "its peak GB")
    return "\n".join([words.table(head, lines), *failed])
