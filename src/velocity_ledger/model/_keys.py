"""Keys drawn from where a parameter stands, not from the order in which it is made."""

import dataclasses as dc
import hashlib

import jax
from flax import nnx


def fold_in_name(key: jax.Array, name: str) -> jax.Array:
    """Return a key that depends on `key` and a name, the same in every process."""
    digest = hashlib.sha256(name.encode()).digest()
    return jax.random.fold_in(key, int.from_bytes(digest[:4], "little"))


@dc.dataclass(frozen=True)
class PathKeys:
    """A key and a path below it.

    The same parameter has the same initial value in every variant, whatever else a variant
    creates before it: runs of one seed are paired.
    """

    key: jax.Array
    path: str = ""

    def at(self, name: str | int) -> "PathKeys":
        """Return the keys one step further down."""
        return dc.replace(self, path=f"{self.path}.{name}" if self.path else str(name))

    def draw(self) -> jax.Array:
        """Return the key of this path."""
        return fold_in_name(self.key, self.path)

    def rngs(self) -> nnx.Rngs:
        """Return this path's key in the form NNX modules take."""
        return nnx.Rngs(params=self.draw())
