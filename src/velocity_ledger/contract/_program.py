"""That an integrator is a program: of fixed shapes, differentiable, the same however it is run."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from velocity_ledger.contract import _programs
from velocity_ledger.contract._finding import NotDeclared, require, require_close
from velocity_ledger.contract._subject import Subject, another, moved, one_copy
from velocity_ledger.integrators import Context, Field, Value, is_static

_LOOP = 3e-6  # float32 paths of N steps of size 1
_SWEEP = 1e-5


def keeps_structure(subject: Subject) -> None:
    """Stream and state keep their structure, shapes and dtypes, in float32 and bfloat16."""
    integrator = subject.integrator
    own = one_copy(moved(integrator), integrator)
    params = jax.tree.map(lambda w: w[0], _programs.weights())
    field = Field(params, None, _programs.apply)
    for dtype in (jnp.float32, jnp.bfloat16):
        ctx = Context(
            jnp.asarray(_programs.HALF), own, None, jnp.asarray(_programs.TOKENS), _programs.N
        )

        def whole(x: Any, ctx: Context = ctx) -> Any:
            before = integrator.init(x, ctx)
            stream, state, info = integrator.step(field, *before, ctx)
            read = integrator.readout(stream, state, ctx)
            return before, (stream, state), (integrator.position(stream), read, info.step)

        before, after, out = jax.eval_shape(whole, _programs.start(dtype))
        told = [jax.tree.map(lambda a: (a.shape, str(a.dtype)), tree) for tree in (before, after)]
        require(told[0] == told[1], f"in {jnp.dtype(dtype).name}: {told[0]} becomes {told[1]}")
        for name, array in zip(("position", "readout", "step"), out, strict=True):
            shape = (_programs.BATCH, _programs.TIME, _programs.WIDTH)
            kept = array.shape == shape and array.dtype == dtype
            require(
                kept,
                f"the {name} of a {jnp.dtype(dtype).name} stream is {array.dtype}{array.shape}",
            )


def finite_everywhere(subject: Subject) -> None:
    """Values and gradients are finite under jit, vmap, scan and grad, at zeros too.

    At a zero stream and zero fields, where norms have no derivative.
    """
    zeros, quiet = jnp.zeros_like(_programs.start()), _programs.silent_weights()
    own = moved(subject.integrator)
    for found, where in (
        (subject.gradients, "on its path"),
        (_programs.gradients(subject.integrator, own, quiet, zeros), "at zero fields and stream"),
        (_programs.gradients(subject.integrator, own, quiet), "at zero fields"),
    ):
        value, seen, gradient = found
        for name, tree in (("value", (value, seen["x"])), ("gradient", gradient)):
            finite = all(bool(jnp.all(jnp.isfinite(leaf))) for leaf in jax.tree.leaves(tree))
            require(finite, f"a {name} is not finite {where}")


def scan_is_loop(subject: Subject) -> None:
    """Compiled and scanned, mapped over samples, and step by step, the path is one."""
    loop = _programs.looped(subject.integrator, moved(subject.integrator))
    for name in ("x", "x_n"):
        require_close(subject.path[name], loop[name], _LOOP, f"{name} of a scan and of a loop")
        sample = np.asarray(subject.gradients[1][name])
        mapped = np.moveaxis(sample, 0, 1) if name == "x" else sample
        require_close(mapped, subject.path[name], _LOOP, f"{name} of one sample and of a batch")


def numbers_are_data(subject: Subject) -> None:
    """Another value of a hyperparameter runs the same program: none is compiled anew."""
    integrator = subject.integrator
    for name, value in _static(integrator):
        plain = not isinstance(value, float)
        require(plain, f"{name} = {value!r} is annotated as part of the program, not as data")
    if not jax.tree.leaves(integrator):
        raise NotDeclared("it has no numbers")
    own, other = moved(integrator), jax.tree.map(another, integrator)
    _ = _programs.path(integrator, own)
    before = len(_programs.traces)
    _ = _programs.path(other, own)
    require(len(_programs.traces) == before, "another value of its numbers is compiled anew")


def sweep_is_each(subject: Subject) -> None:
    """vmap over a stack of integrators gives what each gives alone: a sweep is one program."""
    integrator = subject.integrator
    if not jax.tree.leaves(integrator):
        raise NotDeclared("it has no numbers")
    own, factors = moved(integrator), np.array([1.0, 0.9], np.float32)
    sweep = jax.tree.map(lambda leaf: leaf * factors, integrator)
    together = jax.vmap(lambda one: _programs.looped(one, own)["x_n"])(sweep)
    for row, factor in zip(together, factors, strict=True):
        # Plain numbers here, traced ones there.
        one = jax.tree.map(lambda leaf, f=factor: float(leaf * f), integrator)
        alone = _programs.looped(one, own)["x_n"]
        require_close(row, alone, _SWEEP, f"a sweep and its value times {factor:g}")


def _static(value: Any, name: str = "") -> list[tuple[str, Any]]:
    """The fields of a value and its parts that are part of the program."""
    found = []
    for field in vars(type(value)).get("__dataclass_fields__", {}).values():
        item, path = getattr(value, field.name), f"{name}.{field.name}".lstrip(".")
        if isinstance(item, Value):
            found += _static(item, path)
        elif is_static(field.type):
            found.append((path, item))
    return found
