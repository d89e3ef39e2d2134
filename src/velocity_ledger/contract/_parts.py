"""What a part of a composition promises beside its path."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from velocity_ledger.contract import _programs
from velocity_ledger.contract._finding import NotDeclared, require, require_close
from velocity_ledger.contract._subject import Subject, moved, one_copy
from velocity_ledger.integrators import Composition, Context, Field, Integrator

_REST = 1e-5  # a sum of many small steps in float32
_STILL, _MOST = 1e-9, 20_000
_KINDS = ("first", "second")


def kinds_are_apart(subject: Subject) -> None:
    """A memory of each kind is its own: a step reads what its kind's fields gave, and no other's.

    A field of one kind gives one thing or another; then, from the same position, a step of that
    kind must differ, and a step of the other kind must not, to the bit.
    """
    integrator = subject.integrator
    if not integrator.per_kind:
        raise NotDeclared("all kinds of sub-update share its memory")
    own = one_copy(moved(integrator), integrator)
    steps = np.asarray(_second_steps(_programs.weights(), own, integrator))
    for writer, reader in itertools.product((0, 1), (0, 1)):
        one, other = steps[writer, reader]
        told = f"what the {_KINDS[writer]} kind's field gave"
        if writer == reader:
            require(np.any(one != other), f"{told} is not read in the next step of its kind")
        else:
            require_close(one, other, 0.0, f"{told}, in a step of the {_KINDS[reader]} kind")


@jax.jit
def _second_steps(params: Any, own: Any, integrator: Integrator) -> Any:
    """A step of each kind after one of either whose field was one or another.

    [writer, reader, one or another, batch, time, width]
    """
    tokens = jnp.asarray(_programs.TOKENS)

    def context(index: int, kind: int, visit: int) -> Context:
        return Context(index, own, None, tokens, _programs.N, _KINDS[kind], _KINDS, visit)

    def field(k: int) -> Field:
        return Field(jax.tree.map(lambda w: w[k], params), None, _programs.apply)

    stream, state = integrator.init(_programs.start(), context(0, 0, 0))

    def second(writer: int, reader: int, k: int) -> Any:
        _, after, _ = integrator.step(field(k), stream, state, context(0, writer, 0))
        ctx = context(1, reader, int(writer == reader))
        return integrator.step(field(2), stream, after, ctx)[2].step

    return jnp.stack(
        [jnp.stack([jnp.stack([second(w, r, k) for k in (0, 1)]) for r in (0, 1)]) for w in (0, 1)]
    )


def coasts_to_rest(subject: Subject) -> None:
    """A head that coasts reads where the stream comes to rest when no field pushes any more.

    Tried by sub-updates of silent fields, under the last one's coefficients, until nothing moves.
    """
    integrator = subject.integrator
    if not isinstance(integrator, Composition) or not integrator.reading.coasts:
        raise NotDeclared("its head does not coast")
    if integrator.geometry.curved:
        raise NotDeclared("on a curved geometry the whole way is one step")
    read, rest, left = _at_rest(_programs.weights(), moved(integrator), integrator)
    require(left <= _STILL, f"after {_MOST} silent sub-updates the stream still moves")
    require_close(read, rest, _REST, "what the head reads and where the stream comes to rest")


@jax.jit
def _at_rest(params: Any, own: Any, integrator: Integrator) -> tuple[Any, Any, Any]:
    """What the head reads, where the stream comes to rest, and how far it still moves."""
    tokens = jnp.asarray(_programs.TOKENS)
    declared = integrator.parameters(_programs.WIDTH)
    last = {n: v if declared[n].per == "model" else v[-1] for n, v in own.items()}
    x0, still = _programs.start(), _programs.still()
    seen = _programs.scanned(params, own, x0, tokens, None, integrator, still)
    state = jax.tree.map(lambda leaf: leaf[-1], seen["state"])
    silent = Field(jax.tree.map(lambda w: w[-1], _programs.silent_weights()), None, _programs.apply)
    ctx = Context(_programs.N - 1, last, None, tokens, _programs.N)

    def moves(carry: Any) -> Any:
        _, _, far, count = carry
        return (far > _STILL) & (count < _MOST)

    def advance(carry: Any) -> Any:
        stream, state, _, count = carry
        stream, state, info = integrator.step(silent, stream, state, ctx)
        return stream, state, jnp.max(jnp.abs(info.raw_step)), count + 1

    start = (seen["x"][-1], state, jnp.float32(jnp.inf), 0)
    rest, _, left, _ = jax.lax.while_loop(moves, advance, start)
    return seen["x_n"], rest, left
