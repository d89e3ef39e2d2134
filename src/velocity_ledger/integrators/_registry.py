"""The registry: a name, and the function that builds the integrator."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from velocity_ledger.errors import UserError
from velocity_ledger.integrators import _named, _optimizers, streams
from velocity_ledger.integrators._contract import Integrator
from velocity_ledger.integrators._hamiltonian import Staggered
from velocity_ledger.integrators._reductions import REDUCTIONS, Reduction
from velocity_ledger.integrators._references import REFERENCES

Builder = Callable[..., Integrator]

_builders: dict[str, Builder] = {}
_sources: dict[str, tuple[str, ...]] = {}
_reductions: dict[str, tuple[Reduction, ...]] = {}


def register(
    name: str,
    build: Builder,
    sources: Sequence[str] = (),
    reductions: Sequence[Reduction] = (),
) -> None:
    """Add a named integrator; `build`'s defaults are the variant, its arguments what it takes.

    The first paragraph of its docstring says what it does. `sources` are BibTeX entries, or keys of
    those that the library knows; `reductions` are what it equals at the edge of its arguments.
    Raises `UserError` for a name taken.
    """
    if name in _builders:
        raise UserError(f"an integrator named {name} is registered already")
    _builders[name] = build
    _sources[name] = tuple(REFERENCES.get(source, source) for source in sources)
    _reductions[name] = (*REDUCTIONS.get(name, ()), *reductions)


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


def sources(name: str) -> tuple[str, ...]:
    """Return the BibTeX entries of the papers that a named integrator comes from."""
    builder(name)
    return _sources.get(name, ()) or _sources.get(name.replace("_", "-"), ())


def reductions(name: str) -> tuple[Reduction, ...]:
    """Return what a named integrator equals at the edge of its arguments."""
    builder(name)
    return _reductions.get(name, ()) or _reductions.get(name.replace("_", "-"), ())


def arguments(build: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Return the arguments a builder takes, with their defaults and annotations."""
    try:
        found = inspect.signature(build).parameters.values()
    except (TypeError, ValueError):
        name = getattr(build, "__name__", repr(build))
        raise UserError(f"{name} is not an integrator: its arguments are unknown") from None
    return {p.name: (p.default, p.annotation) for p in found}


register("plain", _named.plain, ["lu2019macaron"])
register("ledger", _named.ledger, ["polyak1964", "sander2021momentum", "bouhsine2026ledger"])
register("ngpt-lite", _named.ngpt_lite, ["bouhsine2026ledger", "loshchilov2024ngpt"])
register("ngpt-ledger", _named.ngpt_ledger, ["bouhsine2026ledger", "loshchilov2024ngpt"])
register(
    "split-ledger",
    _named.split_ledger,
    ["sander2021momentum", "stein2026sympformer", "noren2026stable"],
)
register("coasting-ledger", _named.coasting_ledger, ["bouhsine2026ledger"])
register("damped-euler", _named.damped_euler)
register("rezero", _named.rezero, ["bachlechner2020rezero"])
register("layer-scale", _named.layer_scale, ["touvron2021cait"])
register("learned-ledger", _named.learned_ledger, ["sander2021momentum"])
register("nesterov", _named.nesterov, ["zimin2026yuriiformer"])
register("yuriiformer", _named.yuriiformer, ["zimin2026yuriiformer"])
register("hbformer", _named.hbformer, ["gai2026streams"])
register("tmmformer", _named.tmmformer, ["gai2026streams"])
register("polyak-shear", _named.polyak_shear, ["polyak1964", "noren2026stable"])
register("adams-bashforth", _named.adams_bashforth)
register("leapfrog", _named.leapfrog, ["gal2025reversing"])
register("midpoint", _named.midpoint, ["gal2025reversing"])
register("midpoint-a", _named.midpoint_a, ["gal2025reversing"])
register("bdia", _named.bdia, ["zhang2024bdia"])
register("heun", _named.heun, ["li2022ode"])
register("rk4", _named.rk4, ["li2022ode"])
register("ode-rk2", _named.ode_rk2, ["li2022ode"])
register("gated-rk2", _named.gated_rk2, ["li2022ode"])
register("riemannian-ledger", _named.riemannian_ledger, ["absil2008", "bouhsine2026ledger"])
register("ngpt-step", _named.ngpt_step, ["loshchilov2024ngpt"])
register("parallel", _named.parallel, ["zimin2026yuriiformer"])
register("strang", _named.strang, ["strang1968"])
register("macaron", _named.macaron, ["lu2019macaron"])
register("staggered", Staggered, ["gal2025reversing"])
register("adamformer", _optimizers.adamformer, ["gai2026streams", "kingma2015adam"])
register("adamwformer", _optimizers.adamwformer, ["gai2026streams", "loshchilov2019adamw"])
register("rmsformer", _optimizers.rmsformer, ["gai2026streams"])
register("muonformer", _optimizers.muonformer, ["gai2026streams", "jordan2024muon"])
register("orthoformer", _optimizers.orthoformer, ["gai2026streams", "jordan2024muon"])
register("soapformer", _optimizers.soapformer, ["gai2026streams", "gupta2018shampoo"])
register("shampooformer", _optimizers.shampooformer, ["gai2026streams", "gupta2018shampoo"])
register("hyper-connections", streams.hyper_connections, ["zhu2024hyper"])
register("dynamic-hyper-connections", streams.dynamic_hyper_connections, ["zhu2024hyper"])
register("manifold-hyper-connections", streams.manifold_hyper_connections, ["xie2025mhc"])
register("denseformer", streams.DenseFormer, ["pagliardini2024denseformer"])
