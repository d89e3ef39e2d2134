"""Figures as words, and rows that have none."""

from collections.abc import Callable, Sequence
from typing import Any

from velocity_ledger._table import aligned

NONE = "-"


def count(value: float | None) -> str:
    """As 12,345."""
    return NONE if value is None else f"{value:,.0f}"


def seconds(value: float | None) -> str:
    """As 0.123, 12.3 or 123."""
    if value is None:
        return NONE
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def gigabytes(value: int | None) -> str:
    """As 1.23."""
    return NONE if value is None else f"{value / 1e9:.2f}"


def ratio(value: dict[str, float] | None, spread: bool = False) -> str:
    """As 1.23, with its lowest and highest round where asked for."""
    if value is None:
        return NONE
    told = f"{value['median']:.2f}"
    return f"{told} [{value['low']:.2f}, {value['high']:.2f}]" if spread else told


def share(value: dict[str, float] | None) -> str:
    """As 45 %."""
    return NONE if value is None else f"{100 * value['median']:.0f} %"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns, the first one set left."""
    return aligned([list(head), *map(list, rows)])


def failures(rows: Sequence[dict[str, Any]], name: Callable[[dict[str, Any]], str]) -> list[str]:
    """A line for each row that failed."""
    return [f"{name(row)} failed: {row['error']}" for row in rows if row["error"] is not None]
