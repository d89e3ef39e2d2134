"""Running sub-updates through depth, unrolled or scanned."""

import dataclasses as dc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from velocity_ledger.integrators import Context, Field, Integrator
from velocity_ledger.record import Nothing, Recorder


@jax.tree_util.register_dataclass
@dc.dataclass(frozen=True)
class SubUpdate:
    """One sub-update: its field, its own copy of the integrator's parameters, and its kind."""

    field: Field
    parameters: Mapping[str, Any]
    kind: str = dc.field(default="field", metadata={"static": True})


Layer = tuple[SubUpdate, ...]

_FIELD, _INTEGRATOR, _START = 0, 1, 2  # who draws from a sub-update's key: they share no bits


def run_layers(
    layers: Sequence[Layer] | Layer,
    x: Float[Array, "*batch width"],
    integrator: Integrator,
    *,
    scan: bool = False,
    depth: int | None = None,
    record: Recorder | None = None,
    key: Any = None,
    inputs: Any = None,
    prepare: Callable[[Any], Any] | None = None,
) -> tuple[Float[Array, "*batch width"], Any]:
    """Integrate `x` through the layers; return what the head reads and what was recorded.

    `layers` is a sequence of layers, or, with `scan`, one layer whose leaves carry `depth` layers
    on their first axis: it is compiled once. Keys depend on `key` and the sub-update's index
    alone, so both forms agree to float tolerance, dropout included. `prepare` takes the x_0 that
    the first field reads and returns the layers again, where fields hold what is made of it.
    """
    recorder = Nothing() if record is None else record
    groups: Sequence[Layer] = [layers] if scan else layers  # pyright: ignore[reportAssignmentType]
    depth = depth if scan and depth is not None else len(groups)
    total = sum(len(layer) for layer in groups) * (depth if scan else 1)
    order = [kind for layer in groups for kind in _kinds(layer)]
    kinds = tuple(dict.fromkeys(order))

    def draw(index: Any, user: int) -> Any:
        return None if key is None else jax.random.fold_in(jax.random.fold_in(key, index), user)

    def context(
        index: Any,
        parameters: Mapping[str, Any],
        kind: str = "",
        user: int = _INTEGRATOR,
        visit: Any = None,
    ) -> Context:
        key = draw(index, user)
        return Context(index, parameters, key, inputs, total, kind, kinds, visit)

    def at_end(sub_update: int) -> dict[str, Any]:
        """The parameters of the first (0) or last (-1) sub-update."""
        own = dict(groups[sub_update][sub_update].parameters) if total else {}
        return {name: value[sub_update] for name, value in own.items()} if scan else own

    x = jax.lax.optimization_barrier(x)
    stream, state = integrator.init(x, context(0, at_end(0), user=_START))
    if prepare is not None:
        ready = prepare(integrator.position(stream))
        groups = [ready] if scan else ready
    carry = (stream, state, recorder.init(integrator.position(stream)))

    def advance(carry: Any, sub_update: SubUpdate, index: Any, visit: Any) -> tuple[Any, Any]:
        stream, state, kept = carry
        ctx = context(index, sub_update.parameters, sub_update.kind, visit=visit)
        field = dc.replace(sub_update.field, key=draw(index, _FIELD))
        new, state, info = integrator.step(field, stream, state, ctx)
        positions = integrator.position(stream), integrator.position(new)
        kept, row = recorder.update(kept, *positions, info, ctx)
        return (new, state, kept), row

    def through(
        carry: Any, layer: Layer, start: Any, visited: Mapping[str, Any]
    ) -> tuple[Any, list[Any]]:
        """Run one layer, whose kinds were visited so often before."""
        rows = []
        for offset, sub_update in enumerate(layer):
            visit = visited[sub_update.kind] + _kinds(layer[:offset]).count(sub_update.kind)
            # Fenced, or the compiler keeps every field's output and computes each memory, and each
            # row, from all of them: quadratic in depth.
            carry, row = jax.lax.optimization_barrier(
                advance(carry, sub_update, start + offset, visit)
            )
            rows.append(row)
        return carry, rows

    if scan:
        per_layer = len(groups[0])

        def body(carry: Any, item: tuple[Any, Layer]) -> tuple[Any, Any]:
            index, layer = item
            visited = {kind: index * order.count(kind) for kind in kinds}
            carry, rows = through(carry, layer, index * per_layer, visited)
            return carry, _stack(rows)

        carry, stacked = jax.lax.scan(body, carry, (jnp.arange(depth), groups[0]))
        # [depth, per_layer, ...] to [sub_updates, ...]
        rows = jax.tree.map(lambda a: a.reshape(total, *a.shape[2:]), stacked)
    else:
        collected: list[Any] = []
        for layer in groups:
            before = order[: len(collected)]
            visited = {kind: before.count(kind) for kind in kinds}
            carry, more = through(carry, layer, len(collected), visited)
            collected += more
        rows = _stack(collected)

    stream, state, kept = carry
    recorded = recorder.finish(kept, rows, integrator.position(stream))
    # Fenced like the fields: what reads x_n compiles alike for every integrator.
    x_n = integrator.readout(stream, state, context(total, at_end(-1)))
    return jax.lax.optimization_barrier(x_n), recorded


def _kinds(layer: Layer) -> list[str]:
    return [sub_update.kind for sub_update in layer]


def _stack(rows: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows) if rows else None
