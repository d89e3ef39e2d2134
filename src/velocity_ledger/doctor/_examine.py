"""All checks in the order of their telling."""

import importlib
from collections.abc import Iterator

from velocity_ledger.doctor._check import Check

# Name, module, function. A module that cannot even be imported is a finding too.
_PARTS = (
    ("Python", "_libraries", "python"),
    ("packages", "_libraries", "packages"),
    ("jax and flax", "_fit", "fit"),
    ("extras", "_libraries", "extras"),
    ("accelerator", "_plugins", "accelerators"),
    ("JAX at work", "_jax", "at_work"),
    ("huge pages", "_machine", "huge_pages"),
    ("compile cache", "_machine", "compile_cache"),
    ("corpus cache", "_texts", "texts"),
    ("disk", "_machine", "disk"),
    ("clock", "_machine", "clock"),
    ("output", "_machine", "output"),
)


def examine() -> Iterator[Check]:
    """Yield the checks one by one; none raises, and a check that cannot be made has failed."""
    for name, module, function in _PARTS:
        yield from _guarded(name, module, function)


def _guarded(name: str, module: str, function: str) -> list[Check]:
    try:
        return list(getattr(importlib.import_module(f"{__package__}.{module}"), function)())
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        missing = isinstance(error, ModuleNotFoundError) and error.name
        mend = f"pip install {missing.partition('.')[0]}" if missing else None
        return [Check(name, "fail", f"cannot be checked ({reason})", mend)]
