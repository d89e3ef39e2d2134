"""That a batch worked on in pieces, as training does on a CPU, is the batch."""

from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from velocity_ledger.contract import _programs
from velocity_ledger.contract._finding import NotDeclared, require_close
from velocity_ledger.contract._subject import Subject, key, moved
from velocity_ledger.integrators import Field
from velocity_ledger.model import rows_key
from velocity_ledger.stream import SubUpdate, run_layers

_ROWS, _SUM = 2, 2e-6  # float32, of the same sums in arrays of other shapes
_DRAWING = frozenset({"random_bits", "random_unwrap", "random_split"})


def pieces_are_the_batch(subject: Subject) -> None:
    """In training a batch in two pieces moves as the whole: what is drawn has the batch's axis.

    The keys of the pieces are those of training (`rows_key`), whose draws are a piece of the
    whole's where the batch is the first axis of what is drawn, and something else where it is not.
    """
    integrator = subject.integrator
    own = moved(integrator)
    with jax.enable_x64(integrator.amplifies):
        x = _programs.start(jnp.float64 if integrator.amplifies else jnp.float32)[:_ROWS]
        tokens = jnp.asarray(_programs.TOKENS)[:_ROWS]

        def piece(rows: slice) -> tuple[Any, ...]:
            return own, x[rows], tokens[rows], rows_key(key(), rows.start), integrator

        whole = piece(slice(0, _ROWS))
        if not _DRAWING & set(_primitives(jax.make_jaxpr(_end)(*whole).jaxpr)):
            raise NotDeclared("it draws nothing of its own")
        found = jnp.concatenate([_compiled(*piece(slice(i, i + 1))) for i in range(_ROWS)])
        require_close(found, _compiled(*whole), _SUM, "a batch in two pieces and the whole")


def _end(own: Mapping[str, Any], x: Any, tokens: Any, key: Any, integrator: Any) -> Any:
    """Return what the head reads, after fields that draw nothing."""
    declared = integrator.parameters(x.shape[-1])
    stacked = {
        name: jnp.broadcast_to(value, (_programs.N, *value.shape))
        if declared[name].per == "model"
        else value
        for name, value in own.items()
    }
    field = Field(_programs.weights(), None, _undrawn)
    layer = (SubUpdate(field, stacked, "field"),)
    return run_layers(layer, x, integrator, scan=True, depth=_programs.N, key=key, inputs=tokens)[0]


_compiled = jax.jit(_end, compiler_options=_programs.QUICKLY)


def _undrawn(params: Any, x: Any, key: Any) -> Any:
    del key
    return _programs.apply(params, x, None)


def _primitives(program: Any) -> Iterator[str]:
    """The names of all that a program does, within its parts too."""
    for equation in program.eqns:
        yield equation.primitive.name
        for inner in jax.tree.leaves(equation.params, is_leaf=lambda p: hasattr(p, "eqns")):
            if hasattr(inner, "eqns"):
                yield from _primitives(getattr(inner, "jaxpr", inner))
