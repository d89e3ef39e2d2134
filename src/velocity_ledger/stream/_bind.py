"""Any callable, NNX modules among them, as a field whose weights are arguments."""

import dataclasses as dc
import inspect
from collections.abc import Callable
from typing import Any

from flax import nnx

from velocity_ledger.integrators import Field


@dc.dataclass(frozen=True)
class _Apply:
    """A function of (params, x, key), comparable, so that equal fields share a compilation."""

    of: Any
    is_module: bool
    takes_key: bool

    def __call__(self, params: Any, x: Any, key: Any) -> Any:
        function = nnx.merge(self.of, params) if self.is_module else self.of
        return function(x, key=key) if self.takes_key else function(x)


def bind(function: Callable[..., Any]) -> Field:
    """Return a callable `x -> f(x)` as a field.

    An NNX module is split into its graph and its weights. A callable with an argument named `key`
    is handed the sub-update's dropout key, or None.
    """
    if isinstance(function, Field):
        return function
    if isinstance(function, nnx.Module):
        graph, params = nnx.split(function)
        takes_key = _takes_key(type(function).__call__)
        return Field(params, None, _Apply(graph, True, takes_key))
    return Field(None, None, _Apply(function, False, _takes_key(function)))


def _takes_key(function: Callable[..., Any]) -> bool:
    try:
        return "key" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
