"""Keys drawn from where a parameter stands, not from the order in which it is made."""

import dataclasses as dc
import hashlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx


def fold_in_name(key: jax.Array, name: str) -> jax.Array:
    """Return a key that depends on `key` and a name, the same in every process."""
    return jax.random.fold_in(key, _number(name))


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")


@dc.dataclass(frozen=True)
class PathKeys:
    """A key and a path below it.

    The same parameter has the same initial value in every variant, whatever else a variant
    creates before it: runs of one seed are paired.
    """

    key: jax.Array
    path: str = ""
    layers: tuple[str, ...] = ()
    """Where not empty, the paths of all layers, of which `layer` may be traced."""
    layer: Any = None

    def at(self, name: str | int) -> "PathKeys":
        """Return the keys one step further down."""
        return dc.replace(
            self, path=_below(self.path, name), layers=tuple(_below(p, name) for p in self.layers)
        )

    def each(self, count: int, layer: Any) -> "PathKeys":
        """Return what `at(layer)` is for a layer of so many, which may be traced."""
        return dc.replace(
            self, layers=tuple(_below(self.path, i) for i in range(count)), layer=layer
        )

    def draw(self) -> jax.Array:
        """Return the key of this path."""
        if not self.layers:
            return fold_in_name(self.key, self.path)
        numbers = np.array([_number(path) for path in self.layers], np.uint32)
        return jax.random.fold_in(self.key, jnp.asarray(numbers)[self.layer])

    def rngs(self) -> nnx.Rngs:
        """Return this path's key in the form NNX modules take."""
        return nnx.Rngs(params=self.draw())


def _below(path: str, name: str | int) -> str:
    return f"{path}.{name}" if path else str(name)
