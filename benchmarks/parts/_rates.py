"""A table of tokens a second."""

from collections.abc import Sequence
from typing import Any

from benchmarks import figures, words

HEAD = ("tokens/s", "tokens a run", "seconds a run", "compile s", "peak GB")


def title(row: dict[str, Any]) -> str:
    """A row's own words."""
    return row["title"]


def table(first: str, rows: Sequence[dict[str, Any]]) -> str:
    """A line for each row that did not fail."""
    lines = [
        [
            row["title"],
            words.count(figures.tokens_per_second(row)),
            words.count(row["facts"].get("tokens")),
            words.seconds(figures.step_s(row)),
            words.seconds(figures.compile_s(row)),
            words.gigabytes(row["peak_bytes"]),
        ]
        for row in rows
        if row["error"] is None
    ]
    return words.table((first, *HEAD), lines)
