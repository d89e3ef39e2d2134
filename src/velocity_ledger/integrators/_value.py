"""Small frozen values that are also JAX pytrees."""

import dataclasses as dc
import re
from typing import Any, TypeVar, dataclass_transform

import jax
import numpy as np
from jax.tree_util import GetAttrKey

Scalar = float | int | jax.Array | np.ndarray | np.number
"""A number, or an array that takes its place when it is traced, swept or learned."""

V = TypeVar("V", bound="Value")

_STATIC = re.compile(r"^(bool|int|str)(\s*\|\s*None)?$")


def is_static(annotation: Any) -> bool:
    """Return whether a field annotated so is part of the program and not data."""
    plain = isinstance(annotation, type) and not hasattr(annotation, "__args__")
    return bool(_STATIC.match(annotation.__name__ if plain else str(annotation)))


@dataclass_transform(frozen_default=True)
class Value:
    """A frozen, printable, comparable dataclass whose numbers are the leaves of a pytree.

    A subclass only lists its fields. Fields annotated `bool`, `int` or `str` are static (part of
    the program); all others are data, so a compiled function takes another number without being
    compiled again.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dc.dataclass(frozen=True)(cls)  # pyright: ignore[reportUnusedCallResult]
        fields = dc.fields(cls)  # pyright: ignore[reportArgumentType]
        static = tuple(f.name for f in fields if is_static(f.type))
        data = tuple(f.name for f in fields if f.name not in static)

        def flatten_with_keys(value: Any) -> tuple[Any, Any]:
            children = [(GetAttrKey(name), getattr(value, name)) for name in data]
            return children, tuple(getattr(value, name) for name in static)

        def flatten(value: Any) -> tuple[Any, Any]:
            return [getattr(value, n) for n in data], tuple(getattr(value, n) for n in static)

        def unflatten(aux: Any, children: Any) -> Any:
            # Past __init__: what JAX passes here may be tracers or placeholders, not numbers.
            value = object.__new__(cls)
            for name, item in (*zip(data, children, strict=True), *zip(static, aux, strict=True)):
                object.__setattr__(value, name, item)
            return value

        jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)

    def replace(self: V, **changes: Any) -> V:
        """Return a copy with some fields changed."""
        return dc.replace(self, **changes)  # pyright: ignore[reportArgumentType, reportCallIssue]
