"""From raw seconds to figures: medians over rounds, and ratios formed within a round.

A row is a `Measured` as JSON holds it.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def steps(row: Row) -> list[float]:
    """Seconds a step in each round: the median of its runs."""
    return [statistics.median(times) for times in row["seconds"]]


def step_s(row: Row) -> float | None:
    """Seconds a step, the median over rounds."""
    found = steps(row)
    return statistics.median(found) if found else None


def compile_s(row: Row) -> float | None:
    """What the first run took beyond the steps it did."""
    step = step_s(row)
    if step is None or row["first_s"] is None:
        return None
    return max(0.0, row["first_s"] - row["chunk"] * step)


def tokens_per_second(row: Row) -> float | None:
    """The median over rounds; a run of anything but a step has tokens of its own."""
    step = step_s(row)
    return None if step is None or "tokens" not in row["facts"] else row["facts"]["tokens"] / step


def times_as_fast(row: Row, other: Row | None) -> dict[str, float] | None:
    """How many times as many steps `row` did in a round: the median, lowest, highest round."""
    if other is None:
        return None
    found = [b / a for a, b in zip(steps(row), steps(other), strict=False)]
    if not found:
        return None
    return {"median": statistics.median(found), "low": min(found), "high": max(found)}


def by_name(rows: Sequence[Row]) -> dict[str, Row]:
    """The rows that were measured to their end."""
    return {row["name"]: row for row in rows if row["error"] is None}
