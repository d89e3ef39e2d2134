"""One finding as a value."""

import dataclasses as dc
from typing import Literal

Status = Literal["ok", "warn", "fail"]


@dc.dataclass(frozen=True)
class Check:
    """What was looked at, how it stands, what was found, and the command that mends it."""

    name: str
    status: Status
    found: str
    mend: str | None = None


def size(number: int) -> str:
    """`number` of bytes for a reader."""
    if number < 2**10:
        return f"{number} bytes"
    power = min((number.bit_length() - 1) // 10, 4)
    return f"{number / 2 ** (10 * power):,.1f} {('KiB', 'MiB', 'GiB', 'TiB')[power - 1]}"
