"""Public names imported when first used, so that `--help` never waits for JAX."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package of private modules.

    `modules` maps a public name to the module, relative to `package`, that defines it.
    """
    names = sorted(modules)

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = importlib.import_module(f"{package}.{modules[name]}")
        except AttributeError as error:
            # `from package import name` would take it for a missing name and drop its reason.
            raise ImportError(f"cannot import {package}.{modules[name]}: {error}") from error
        return getattr(module, name)

    return get, lambda: names, names
