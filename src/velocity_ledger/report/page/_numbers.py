"""Numbers as words of the page: a true minus sign, one width, a dash for what is unknown."""

import math

from velocity_ledger.telemetry import Interval

UNKNOWN = "–"


def number(value: float | None, digits: int) -> str:
    """`value` with that many digits after the point."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = f"{abs(value):,.{digits}f}"
    return f"−{text}" if value < 0 and float(text.replace(",", "")) else text


def signed(value: float | None, digits: int) -> str:
    """As `number`, with a plus sign where it is positive."""
    text = number(value, digits)
    positive = value is not None and value > 0 and text.strip("0.,") not in ("", UNKNOWN)
    return f"+{text}" if positive else text


def whole(value: float | None) -> str:
    """`value` rounded, its thousands apart."""
    return number(value, 0)


def bounds(interval: Interval | None, digits: int, sign: bool = True) -> str:
    """The interval as `[low, high]`; empty where there is none."""
    if interval is None or interval.low is None or interval.high is None:
        return ""
    written = signed if sign else number
    return f"[{written(interval.low, digits)}, {written(interval.high, digits)}]"


def listed(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
