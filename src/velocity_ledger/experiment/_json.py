"""Strict JSON: no NaN, no infinity, no types of NumPy."""

import dataclasses as dc
import json
import math
import pathlib
from collections.abc import Mapping, Sequence, Set as AbstractSet
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Return `value` made of what JSON has; numbers that are not finite become None."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if dc.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dc.fields(value)}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, pathlib.PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, AbstractSet):
        return sorted(plain(v) for v in value)
    if isinstance(value, Sequence):
        return [plain(v) for v in value]
    raise TypeError(f"no JSON form for {type(value).__name__}")


def dumps(value: Any, *, indent: int | None = 2) -> str:
    """Write `value` as strict JSON; half a surrogate pair, which no UTF-8 has, as its escape."""
    text = json.dumps(plain(value), indent=indent, allow_nan=False, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def loads(text: str) -> Any:
    """Read strict JSON; `ValueError` where the text is none."""

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)
