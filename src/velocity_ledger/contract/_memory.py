"""That nothing which an integrator declares or keeps does nothing."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from velocity_ledger.contract import _programs
from velocity_ledger.contract._finding import NotDeclared, require
from velocity_ledger.contract._subject import (
    Subject,
    another,
    declared,
    key,
    moved,
    one_copy,
)
from velocity_ledger.errors import UserError
from velocity_ledger.integrators import Context, arguments


def memory_changes(subject: Subject) -> None:
    """Every array of the state changes on the way: memory that never changes is none."""
    leaves = jax.tree.leaves_with_path(subject.path["state"])
    if not leaves:
        raise NotDeclared("it has no memory beside its stream")
    for where, leaf in leaves:
        still = bool(np.all(np.asarray(leaf) == np.asarray(leaf)[:1]))
        require(not still, f"state{jax.tree_util.keystr(where)} never changes")


def memory_is_read(subject: Subject) -> None:
    """Every array of stream and state, moved a little halfway, changes the rest of the path."""
    own = moved(subject.integrator)
    for number, label in enumerate(_memories(subject)[: _programs.LEAVES]):
        nudge = _programs.still().at[number].set(0.25)
        # In training: what is drawn may be what reads it.
        seen = _programs.path(subject.integrator, own, key=key(), nudge=nudge)
        # The nudge itself is seen in the state before; what counts is where the stream goes.
        same = all(np.array_equal(seen[name], subject.drawn_path[name]) for name in ("step", "x_n"))
        require(not same, f"{label} is never read again")


def every_parameter_is_heard(subject: Subject) -> None:
    """Every copy of a declared parameter has a gradient, but where `zero_gradient` says why not."""
    per = declared(subject.integrator)
    if not per:
        raise NotDeclared("it learns nothing")
    for name, gradient in subject.gradients[2]["own"].items():
        parameter = per[name]
        require(np.all(np.isfinite(gradient)), f"the gradient of {name} is not finite")
        # Over the samples; of a table only the rows that are looked up can be heard.
        heard = np.any(np.asarray(gradient) != 0, axis=0)
        unsized = subject.integrator.parameters(_programs.WIDTH)[name].shape
        if not all(isinstance(size, int) for size in unsized):
            heard = heard.any()
        require(heard.any(), f"{name} is declared and changes nothing")
        if parameter.zero_gradient:
            silent = "has a gradient everywhere, and zero_gradient says that it has not"
            require(not heard.all(), f"{name} {silent}")
            continue
        where = np.argwhere(~np.atleast_1d(heard))
        require(len(where) == 0, f"{name}{where[:1].tolist()} is declared and changes nothing")


def every_field_is_heard(subject: Subject) -> None:
    """What each sub-update's field gives changes the path, in every sample."""
    heard = np.any(np.asarray(subject.gradients[2]["weights"]["w"]) != 0, axis=(2, 3))
    silent = np.flatnonzero(~heard.all(axis=0)).tolist()
    require(not silent, f"the field of sub-update {silent} changes nothing")


def every_number_acts(subject: Subject) -> None:
    """Each number changes the path in training, each number or truth of its builder the value."""
    integrator = subject.integrator
    leaves, structure = jax.tree.flatten(integrator)
    names = [jax.tree_util.keystr(k) for k, _ in jax.tree.leaves_with_path(integrator)]
    arguments = _numbers(subject)
    if not leaves and not arguments:
        raise NotDeclared("it has no numbers")
    build = subject.build
    for name, default in arguments.items():
        assert build is not None
        same = _rebuilt(build, name, default) == build()
        require(not same, f"its argument {name} changes nothing")
    for k, name in enumerate(names):
        other = [another(leaf) if i == k else leaf for i, leaf in enumerate(leaves)]
        changed = jax.tree.unflatten(structure, other)
        # Parameters start anew: what a number decides may be their start.
        seen = _programs.path(changed, moved(changed), key=key())
        same = np.array_equal(seen["x"], subject.drawn_path["x"]) and np.array_equal(
            seen["x_n"], subject.drawn_path["x_n"]
        )
        require(not same, f"{name.lstrip('.')} changes nothing")


def _numbers(subject: Subject) -> dict[str, Any]:
    """The arguments of its builder that are numbers or truths: of a word no other is known."""
    if subject.build is None:
        return {}
    takes = arguments(subject.build)
    return {n: d for n, (d, _) in takes.items() if isinstance(d, (bool, int, float))}


def _rebuilt(build: Callable[..., Any], name: str, default: Any) -> Any:
    """The value with one argument changed; None where the builder refuses the change alone."""
    if isinstance(default, bool):
        changes = [not default]
    else:
        # Of a count another count.
        changes = [2 * default if isinstance(default, int) else 0.5 * default, default + 1]
    for change in changes:
        if not math.isclose(change, default):
            try:
                return build(**{name: change})
            except UserError:
                continue
    return None


def _memories(subject: Subject) -> list[str]:
    """The names of the arrays of stream and state that can be moved: those of floats."""
    own = one_copy(moved(subject.integrator), subject.integrator)
    ctx = Context(0, own, None, jnp.asarray(_programs.TOKENS), total=_programs.N)
    shapes = jax.eval_shape(lambda x: subject.integrator.init(x, ctx), _programs.start())
    return [
        f"{part}{jax.tree_util.keystr(where)}"
        for part, tree in zip(("stream", "state"), shapes, strict=True)
        for where, leaf in jax.tree.leaves_with_path(tree)
        if _programs.is_real(leaf)
    ]
