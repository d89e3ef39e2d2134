"""The registry: a name, and the function that builds the integrator."""

import inspect
from collections.abc import Callable
from typing import Any

from velocity_ledger.errors import UserError
from velocity_ledger.integrators import _named
from velocity_ledger.integrators._contract import Integrator

Builder = Callable[..., Integrator]

_builders: dict[str, Builder] = {}


def register(name: str, build: Builder) -> None:
    """Add a named integrator; `build`'s defaults are the variant, its arguments what it takes.

    The first paragraph of its docstring says what it does. Raises `UserError` for a name taken.
    """
    if name in _builders:
        raise UserError(f"an integrator named {name} is registered already")
    _builders[name] = build


def names() -> tuple[str, ...]:
    """Return the registered names, in the order of registration."""
    return tuple(_builders)


def builder(name: str) -> Builder:
    """Return the function behind a name; `ngpt_lite` finds `ngpt-lite`."""
    found = _builders.get(name) or _builders.get(name.replace("_", "-"))
    if found is None:
        raise UserError(
            f"no integrator is named {name}: choose one of {', '.join(_builders)}, or a file of"
            " your own as ./mine.py:Mine"
        )
    return found


def summary(name: str) -> str:
    """Return the sentence that describes a named integrator."""
    return (inspect.getdoc(builder(name)) or "").split("\n\n")[0].replace("\n", " ")


def arguments(build: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Return the arguments a builder takes, with their defaults and annotations."""
    try:
        found = inspect.signature(build).parameters.values()
    except (TypeError, ValueError):
        name = getattr(build, "__name__", repr(build))
        raise UserError(f"{name} is not an integrator: its arguments are unknown") from None
    return {p.name: (p.default, p.annotation) for p in found}


register("plain", _named.plain)
register("ledger", _named.ledger)
register("ngpt-lite", _named.ngpt_lite)
register("ngpt-ledger", _named.ngpt_ledger)
register("damped-euler", _named.damped_euler)
register("rezero", _named.rezero)
register("layer-scale", _named.layer_scale)
register("learned-ledger", _named.learned_ledger)
register("nesterov", _named.nesterov)
register("yuriiformer", _named.yuriiformer)
register("hbformer", _named.hbformer)
register("tmmformer", _named.tmmformer)
register("polyak-shear", _named.polyak_shear)
register("adams-bashforth", _named.adams_bashforth)
register("leapfrog", _named.leapfrog)
register("midpoint", _named.midpoint)
register("midpoint-a", _named.midpoint_a)
register("bdia", _named.bdia)
register("heun", _named.heun)
register("rk4", _named.rk4)
register("riemannian-ledger", _named.riemannian_ledger)
register("ngpt-step", _named.ngpt_step)
register("parallel", _named.parallel)
register("strang", _named.strang)
register("macaron", _named.macaron)
