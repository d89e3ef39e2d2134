"""Attention of new tokens to those before them, whose keys and values are kept."""

import dataclasses as dc
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from velocity_ledger.integrators import Context, Field, Info, retract
from velocity_ledger.model._attention import Attention
from velocity_ledger.model._norm import read
from velocity_ledger.model._product import product
from velocity_ledger.model._rotary import rotate

KeysAndValues = tuple[Any, Any]
"""Keys [batch, key_heads, size, time] and values [batch, key_heads, time, size].

One query then reads both along their last axis. A scanned model has its layers on a first one.
"""


class Writing:
    """Where attention leaves what it wrote, and the recorder that carries it out of the program.

    A step of an integrator hands on a field's output and nothing beside it. So keys and values are
    laid down here while the program is traced, and taken up when the last sub-update of a layer is
    recorded: recorders run where the fields do, in a scan over layers too. Recorded is every
    layer's `kept` with the new tokens in it; of a scanned model, `room` has its shapes.
    """

    def __init__(self, per_layer: int, room: Any = None) -> None:
        self._per_layer, self._room = per_layer, room
        self._sub_updates, self._written = 0, list[KeysAndValues]()

    def write(self, kept: Any, start: Any, keys: Any, values: Any) -> KeysAndValues:
        """Return all keys and values of this evaluation, and leave them for the recorder."""
        before = kept[len(self._written)]
        whole = (
            jax.lax.dynamic_update_slice_in_dim(before[0], keys, start, 3),
            jax.lax.dynamic_update_slice_in_dim(before[1], values, start, 2),
        )
        self._written.append(whole)
        return whole

    def init(self, x0: Any) -> Any:
        del x0
        return () if self._room is None else jax.tree.map(jnp.zeros_like, self._room)

    def update(
        self, kept: Any, x_before: Any, x_after: Any, info: Info, ctx: Context
    ) -> tuple[Any, Any]:
        del x_before, x_after, info
        self._sub_updates += 1
        if self._sub_updates < self._per_layer:
            return kept, None
        written = tuple(self._written)
        self._sub_updates, self._written = 0, []
        return self._taken_up(kept, written, ctx.index // self._per_layer), None

    def finish(self, kept: Any, rows: Any, x_n: Any) -> Any:
        del rows, x_n
        return kept

    def _taken_up(self, kept: Any, written: tuple[KeysAndValues, ...], layer: Any) -> Any:
        if self._room is None:
            return (*kept, written)
        return jax.tree.map(lambda whole, own: whole.at[layer].set(own), kept, written)


class Asking(Writing):
    """The same without a past: it notes how often each layer evaluates its attention, and on what.

    `asked` holds the shapes of what was written, layer by layer; a scanned layer may be traced more
    than once. `hidden` says that a field was evaluated in a program of the integrator's own, such
    as a loop or a branch, out of which nothing can be carried.
    """

    def __init__(self, per_layer: int) -> None:
        super().__init__(per_layer)
        self.asked: list[Any] = []
        self.hidden = False
        self._programs: list[Any] = []

    def write(self, kept: Any, start: Any, keys: Any, values: Any) -> KeysAndValues:
        del kept, start
        self._written.append(jax.tree.map(_shape, (keys, values)))
        self._programs.append(_program())
        return keys, values

    def update(
        self, kept: Any, x_before: Any, x_after: Any, info: Info, ctx: Context
    ) -> tuple[Any, Any]:
        here = _program()
        self.hidden |= any(program != here for program in self._programs)
        self._programs = []
        return super().update(kept, x_before, x_after, info, ctx)

    def _taken_up(self, kept: Any, written: tuple[KeysAndValues, ...], layer: Any) -> Any:
        del layer
        self.asked.append(written)
        return kept


def _program() -> Any:
    """Return what is the same where one program is traced, and another within a part of it."""
    return jax.extend.core.get_opaque_trace_state(convention="nnx")


def _shape(a: Any) -> Any:
    return jax.ShapeDtypeStruct(a.shape, a.dtype)


@jax.tree_util.register_dataclass
@dc.dataclass(frozen=True)
class Past:
    """What the attention of one layer knows of earlier tokens, and the place of the first new one.

    `kept` has an entry for every time that the layer's attention is evaluated, in this order. An
    entry belongs to an evaluation and not to a layer: a key is made of the state at which a field
    is asked, and an integrator may ask it several times, elsewhere than at the stream, or in more
    than one sub-update.
    """

    kept: tuple[KeysAndValues, ...]
    start: Any
    writing: Writing = dc.field(metadata={"static": True})

    def extend(self, keys: Any, values: Any) -> KeysAndValues:
        """Return all keys and values of the evaluation at hand, with those of the new tokens."""
        return self.writing.write(self.kept, self.start, keys, values)


@dc.dataclass(frozen=True)
class _Cached:
    """A field's function; comparable, and all arrays are its arguments."""

    of: Any

    def __call__(self, params: Any, x: Any, key: Any) -> Any:
        del key
        weights, past, first_values = params
        return attend(nnx.merge(self.of, weights), x, past, first_values)


def cached(attention: Attention, past: Past, first_values: Any = None) -> Field:
    """Return an attention as a field of new tokens that reads and writes keys and values."""
    graph, weights = nnx.split(attention)
    return Field((weights, past, first_values), None, _Cached(graph))


@jax.named_scope("attention")
def attend(
    attention: Attention,
    x: Float[Array, "batch time width"],
    past: Past,
    first_values: Float[Array, "batch time kept"] | None = None,
) -> Float[Array, "batch time width"]:
    """Return what an attention makes of the tokens from `past.start` on, without dropout.

    The arithmetic is that of `Attention`, but heads that share keys and values share them here.
    """
    batch, time, width = x.shape
    heads, size = attention.key_heads, width // attention.heads
    y = read(attention.norm, attention.factor, x).reshape(batch * time, width)

    def split(z: Float[Array, "tokens kept"]) -> Float[Array, "b heads time size"]:
        return z.reshape(batch, time, -1, size).swapaxes(1, 2)

    values = attention.value(y)
    if first_values is not None:
        values = 0.5 * first_values.reshape(values.shape) + 0.5 * values
    q, k = split(attention.query(y)), split(attention.key(y))
    if attention.rope:
        q, k = rotate(q, start=past.start), rotate(k, start=past.start)
    if attention.qk_scale is None:
        q = q * size**-0.5
    else:
        # A key's scale is that of the head that asks: the query carries both.
        scale = attention.qk_scale()[:, None, :].astype(q.dtype)
        q, k = scale * scale * retract(q, 1.0) * size**0.5, retract(k, 1.0)
    k, v = past.extend(k.swapaxes(2, 3), split(values))
    q = q.reshape(batch, heads, -1, time, size)
    seen = jnp.arange(k.shape[3]) <= (past.start + jnp.arange(time))[:, None]
    if batch == time == 1 and attention.precision == "fp32":
        # A CPU takes the sums of one query faster than its products.
        scores = jnp.sum(q.swapaxes(3, 4) * k[:, :, None], 3, keepdims=True)
        weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
        mixed = jnp.sum(weights.swapaxes(3, 4) * v[:, :, None], 3)
    else:
        scores = product("bhgqd,bhdk->bhgqk", q, k, attention.precision)
        weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
        mixed = product("bhgqk,bhkd->bhgqd", weights, v, attention.precision)
    mixed = mixed.reshape(batch, attention.heads, time, size).swapaxes(1, 2)
    return attention.out(mixed.reshape(batch * time, width)).reshape(x.shape)
