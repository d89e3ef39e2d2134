"""How much of the machine was at somebody else's work: a measurement among others is none."""

import os
from collections.abc import Sequence
from pathlib import Path

_STAT = Path("/proc/stat")
BUSY = 0.1
"""A share of the cores that bends figures."""

_LEAST_S = 0.1
_IDLE = (3, 4)
"""Places of the first line's idle times; behind the first eight, some are counted twice."""


def busy_s() -> float | None:
    """Seconds that all cores have worked since the machine started; None where Linux is not."""
    try:
        words = _STAT.read_text().partition("\n")[0].split()[1:9]
    except OSError:
        return None
    ticks = sum(int(word) for place, word in enumerate(words) if place not in _IDLE)
    return ticks / os.sysconf("SC_CLK_TCK")


def share(before: float | None, after: float | None, own_s: float, wall_s: float) -> float | None:
    """Of all cores in that time, what neither stood still nor did one's own work.

    None for a time that is too short to be told in the kernel's ticks.
    """
    if before is None or after is None or wall_s < _LEAST_S:
        return None
    return min(1.0, max(0.0, after - before - own_s) / (wall_s * (os.cpu_count() or 1)))


def of_turns(found: object) -> list[float | None]:
    """The shares of all turns of a part or a run, as JSON holds it."""
    if isinstance(found, dict):
        own = found.get("others")
        if isinstance(own, list):
            return own
        return [turn for value in found.values() for turn in of_turns(value)]
    if isinstance(found, list):
        return [turn for value in found for turn in of_turns(value)]
    return []


def told(turns: Sequence[float | None]) -> str | None:
    """The words for it, of the shares of all turns."""
    known = sorted(turn for turn in turns if turn is not None)
    if not known:
        return None
    middle, most = known[len(known) // 2], known[-1]
    said = f"others took {100 * middle:.0f} % of the cores, at most {100 * most:.0f} %"
    over = sum(turn > BUSY for turn in known)
    if over:
        said += f", more than {100 * BUSY:.0f} % in {over} of {len(known)} turns"
    return f"{said}: a busy machine, whose figures mean little" if middle > BUSY else said
