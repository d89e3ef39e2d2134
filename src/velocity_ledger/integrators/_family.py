"""Which axis an integrator is about."""

from velocity_ledger.integrators._composition import Composition
from velocity_ledger.integrators._contract import Integrator
from velocity_ledger.integrators.geometry import Flat
from velocity_ledger.integrators.momentum import Euler
from velocity_ledger.integrators.splitting import LieTrotter
from velocity_ledger.integrators.step_scale import Fixed

FAMILIES = ("momentum", "geometry", "step_scale", "splitting", "streams")
"""The axes, and what is no composition of them."""


def family(integrator: Integrator) -> str:
    """Return the first axis where it is not plain: geometry, momentum, step scale or splitting.

    Plain itself is a momentum, Euler; what is not composed from the axes is of `streams`.
    """
    if not isinstance(integrator, Composition):
        return "streams"
    differs = {
        "geometry": type(integrator.geometry) is not Flat,
        "momentum": type(integrator.momentum) is not Euler,
        "step_scale": integrator.step_scale != Fixed(),
        "splitting": type(integrator.splitting) is not LieTrotter,
    }
    return next((axis for axis, found in differs.items() if found), "momentum")
