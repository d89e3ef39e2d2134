"""From one integrator to another by numbers alone."""

import dataclasses as dc
from typing import Any

import jax
import numpy as np

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._composition import Composition
from velocity_ledger.integrators._contract import Integrator


def between(source: Integrator, target: Integrator) -> tuple[Integrator, Integrator]:
    """Return two ends of one structure: the first moves a stream as `source`, the last as `target`.

        plain, ledger(mu=.9)             ledger(mu=0) to ledger(mu=.9)
        ledger(mu=.9), plain             ledger(mu=.9) to ledger(mu=0)
        ledger(mu=.5), ledger(mu=.9)     themselves

    Between them only numbers differ, so all that lies between runs the same compiled program. Two
    integrators of one structure are their own ends. Of two compositions that differ in their
    momentum one must be Euler, by its kind or by its numbers, and the other must become it by its
    numbers: then the ends agree with `source` and `target` bit for bit.

    Raises `UserError` where no numbers lead from one to the other.
    """
    if jax.tree.structure(source) == jax.tree.structure(target):
        return source, target
    if isinstance(source, Composition) and isinstance(target, Composition):
        ends = _through_euler(source, target)
        if ends is not None:
            return ends
    raise UserError(
        f"no numbers lead from {source} to {target}: go by way of another, as plain, or switch at "
        "once, over 0 steps"
    )


def _through_euler(
    source: Composition, target: Composition
) -> tuple[Composition, Composition] | None:
    if not _same_but_momentum(source, target):
        return None
    first, last = target.momentum.as_euler(), source.momentum.as_euler()
    if first is not None and _is_euler(source):
        return source.replace(momentum=first), target
    if last is not None and _is_euler(target):
        return source, target.replace(momentum=last)
    return None


def _same_but_momentum(a: Composition, b: Composition) -> bool:
    names = [f.name for f in dc.fields(a) if f.name != "momentum"]  # pyright: ignore[reportArgumentType]
    return all(
        jax.tree.structure(getattr(a, name)) == jax.tree.structure(getattr(b, name))
        for name in names
    )


def _is_euler(composition: Composition) -> bool:
    momentum = composition.momentum
    euler: Any = momentum.as_euler()
    return jax.tree.structure(euler) == jax.tree.structure(momentum) and all(
        np.array_equal(x, y)
        for x, y in zip(jax.tree.leaves(euler), jax.tree.leaves(momentum), strict=True)
    )
