"""What an integrator claims of itself, tried."""

import dataclasses as dc
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from velocity_ledger.contract import _programs
from velocity_ledger.contract._finding import NotDeclared, require, require_close
from velocity_ledger.contract._subject import Subject, initial, key, moved, one_copy
from velocity_ledger.integrators import (
    Context,
    Field,
    Integrator,
    Reduction,
    Splitting,
    parse,
)
from velocity_ledger.record import States
from velocity_ledger.stream import SubUpdate, run_layers

_SPACE = 2e-6  # a norm in float32
_SINGULAR = 1e-4  # smallest of a step's singular values beside the largest, in float32
_SLOPE = 0.2
_COUNTS = (64, 128, 256)


def stays_in_its_space(subject: Subject) -> None:
    """Every position, the embedding among them, lies in the space that the integrator declares."""
    off = subject.integrator.constraint(subject.path["x"])
    if off is None:
        raise NotDeclared("all of space is allowed")
    worst = float(jnp.max(jnp.abs(off)))
    require(worst <= _SPACE, f"a position lies {worst:.2g} off its space")


def can_be_undone(subject: Subject) -> None:
    """A step that is said to be invertible is one: its Jacobian is not singular.

    By stream and state, at every sub-update of a path but the first, from its singular values. At
    the first a memory may be anything that is known, and count for nothing.
    """
    integrator = subject.integrator
    if not integrator.invertible:
        raise NotDeclared("it does not say that a step can be undone")
    own = one_copy(moved(integrator), integrator)
    worst = min(map(float, _ratios(_programs.weights(), own, integrator)[1:]))
    require(worst > _SINGULAR, f"a step is singular: its singular values span {worst:.1e}")


@jax.jit
def _ratios(params: Any, own: Any, integrator: Integrator) -> Any:
    """Smallest over largest singular value of each step, of one token; what is drawn is known."""
    x = _programs.start()[:1, :1]
    tokens = jnp.asarray(_programs.TOKENS)[:1, :1]
    before = integrator.init(x, Context(0, own, key(), tokens, total=_programs.N))
    flat, back = ravel_pytree(before)

    def advance(flat: Any, item: Any) -> tuple[Any, Any]:
        index, mine = item
        field = Field(mine, None, _programs.apply)
        ctx = Context(index, own, jax.random.fold_in(key(), index), tokens, total=_programs.N)

        def step(z: Any) -> Any:
            stream, state = back(z)
            stream, state, _ = integrator.step(field, stream, state, ctx)
            return ravel_pytree((stream, state))[0]

        sizes = jnp.linalg.svd(jax.jacfwd(step)(flat), compute_uv=False)
        return step(flat), sizes[-1] / sizes[0]

    return jax.lax.scan(advance, flat, (jnp.arange(_programs.N), params))[1]


def reduces_as_declared(subject: Subject) -> None:
    """Under each declared setting it equals the other integrator, in evaluation and in training."""
    if not subject.reductions:
        raise NotDeclared("it declares no reduction")
    for reduction in subject.reductions:
        require(
            bool(reduction.why) == (reduction.tolerance > 0),
            f"the reduction at {reduction.setting} needs a tolerance and its reason, or neither",
        )
        edge = parse(f"{subject.base}({reduction.setting})")
        _agree(edge, parse(reduction.to), reduction)


def _agree(edge: Integrator, other: Integrator, reduction: Reduction) -> None:
    ours, theirs = initial(edge), initial(other)
    # Of what both learn, any value will do; the rest is as it starts.
    both = [n for n in ours if n in theirs and np.array_equal(ours[n], theirs[n])]
    off = moved(edge)
    ours, theirs = ours | {n: off[n] for n in both}, theirs | {n: off[n] for n in both}
    for drawn in (None,) if reduction.evaluated else (None, key()):
        wide = edge.amplifies or other.amplifies
        a = _programs.path(edge, ours, key=drawn, wide=wide)
        b = _programs.path(other, theirs, key=drawn, wide=wide)
        mode = "evaluation" if drawn is None else "training"
        for name in ("x", "x_n"):
            what = f"{reduction.setting} and {reduction.to}, {name} in {mode}"
            require_close(a[name], b[name], reduction.tolerance, what)


def has_its_order(subject: Subject) -> None:
    """Its order of accuracy is the declared one, by regression on x' = A x in float64.

    Steps are made small by small fields: with f/n in n sub-updates the error to the flow falls as
    n^-p. How far that flow goes is read off a constant field.
    """
    integrator = subject.integrator
    order = integrator.order
    if order is None:
        raise NotDeclared("it declares no order")
    with jax.enable_x64(True):
        a = jnp.array([[-0.3, 1.0, 0.0], [-1.0, -0.2, 0.1], [0.0, 0.3, -0.5]])
        x0 = jnp.array([[1.0, -0.5, 0.7]])
        one, zero = jnp.ones_like(x0), jnp.zeros_like(x0)
        own = initial(integrator)
        far = [float(_at(integrator, own, zero, 0 * a, one, n)[0, 0]) for n in _COUNTS[-2:]]
        exact = x0 @ jax.scipy.linalg.expm((2 * far[1] - far[0]) * a)
        ends = [_at(integrator, own, x0, a, zero, n) for n in _COUNTS]
        errors = [float(jnp.abs(end - exact).max()) for end in ends]
    found = -float(np.polyfit(np.log(_COUNTS), np.log(errors), 1)[0])
    require(abs(found - order) < _SLOPE, f"its order is {found:.2f}, and {order} is declared")


@jax.jit
def _at(integrator: Integrator, own: Any, x0: Any, a: Any, b: Any, count: Any) -> Any:
    """x_n of fields (x a + b)/n; n is data, so that all counts share one compilation."""
    last = _COUNTS[-1]
    stacked = jax.tree.map(lambda p: jnp.broadcast_to(p, (last, *p.shape)), (a / count, b / count))
    own = {
        name: jnp.broadcast_to(value[0], (last, *value.shape[1:])) for name, value in own.items()
    }
    layer = (SubUpdate(Field(stacked, None, _affine), own, "field"),)
    _, seen = run_layers(layer, x0, integrator, scan=True, depth=last, record=States())
    return seen["x"][count]


def _affine(params: Any, x: Any, key: Any) -> Any:
    del key
    a, b = params
    return x @ a + b


def uses_its_layer(subject: Subject) -> None:
    """Its splitting uses every field of a layer, once for each sub-update, at its declared order.

    The order is that of the product of the exact flows of the sub-updates for the flow of their
    sum.
    """
    splitting: Splitting = subject.integrator.splitting
    fields, matrices = {}, np.random.default_rng(2).normal(size=(len(splitting.fields), 3, 3))
    for name, matrix in zip(splitting.fields, matrices, strict=True):
        fields[name] = Field(jnp.asarray(matrix, jnp.float32), None, _linear)
    arranged = _arranged(splitting, fields)
    require(len(arranged) == len(splitting.kinds), f"{len(arranged)} sub-updates are arranged")
    for name, field in fields.items():
        without = fields | {name: dc.replace(field, params=0 * field.params)}
        same = all(
            np.array_equal(a, b)
            for a, b in zip(arranged, _arranged(splitting, without), strict=True)
        )
        require(not same, f"the field {name} of a layer is not used")
    if splitting.order is None:
        return
    from scipy.linalg import expm

    errors = []
    for n in _COUNTS:
        step = np.eye(3)
        for matrix in arranged:
            step = step @ expm(matrix / n)
        errors.append(np.abs(np.linalg.matrix_power(step, n) - expm(sum(arranged))).max())
    found = -float(np.polyfit(np.log(_COUNTS), np.log(errors), 1)[0])
    declared = splitting.order
    require(abs(found - declared) < _SLOPE, f"the splitting's order is {found:.2f}, not {declared}")


def _linear(params: Any, x: Any, key: Any) -> Any:
    del key
    return x @ params


def _arranged(splitting: Splitting, fields: dict[str, Field]) -> list[Any]:
    """What each sub-update's field does, as a matrix."""
    return [np.asarray(field(jnp.eye(3)), np.float64) for field in splitting.arrange(fields)]
