"""What is checked: an integrator, how it is written, and what several checks need of it."""

import functools
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from velocity_ledger.contract import _programs
from velocity_ledger.errors import UserError
from velocity_ledger.integrators import (
    Composition,
    Integrator,
    Parameter,
    Reduction,
    builder,
    names,
    parse,
    reductions,
    text,
)

Reference = Callable[[Any, Any, Mapping[str, Any]], Any]


class Subject:
    """An integrator under its text form, with what checks share: its parameters and its paths.

    `name` is what a table calls it, if it is not the text form.
    `reference(fields, x0, own)` is the same rule in NumPy float64, from x_0 to x_n; left out, it is
    the integrator's own `reference`, if it has one.
    """

    def __init__(
        self,
        integrator: Integrator | str,
        *,
        name: str | None = None,
        reference: Reference | None = None,
    ) -> None:
        self.integrator = parse(integrator) if isinstance(integrator, str) else integrator
        self.form = integrator if isinstance(integrator, str) else text(integrator)
        self.name = self.form if name is None else name
        self.reference = self.integrator.reference if reference is None else reference

    @property
    def base(self) -> str:
        """The text form without its arguments."""
        return self.form.partition("(")[0].strip()

    @property
    def build(self) -> Callable[..., Any] | None:
        """The function behind a registered name, the class of a user's own, or None."""
        name = self.base.replace("_", "-")
        if name in names():
            return builder(name)
        own = type(self.integrator)
        return own if ".py:" in self.base and self.base.endswith(f":{own.__qualname__}") else None

    @property
    def reductions(self) -> tuple[Reduction, ...]:
        """What the integrator says that it equals at the edge of its arguments."""
        name = self.base.replace("_", "-")
        named = reductions(name) if name in names() else ()
        return tuple(dict.fromkeys((*named, *self.integrator.reductions)))

    @functools.cached_property
    def path(self) -> dict[str, Any]:
        """Its path, with parameters off their start."""
        return _programs.path(self.integrator, moved(self.integrator))

    @functools.cached_property
    def drawn_path(self) -> dict[str, Any]:
        """Its path in training, with parameters off their start."""
        return _programs.path(self.integrator, moved(self.integrator), key=key())

    @functools.cached_property
    def gradients(self) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        """A number of its path, what was seen, and the gradient."""
        return _programs.gradients(self.integrator, moved(self.integrator))


def key() -> Any:
    """The key of training."""
    return jax.random.key(_programs.KEY_SEED)


def declared(integrator: Integrator) -> dict[str, Parameter]:
    """What the integrator learns, with numbers for all sizes."""
    sizes = {
        "vocabulary": _programs.VOCABULARY,
        "context": _programs.TIME,
        "sub_updates": _programs.N,
    }
    return {n: p.sized(**sizes) for n, p in integrator.parameters(_programs.WIDTH).items()}


def initial(integrator: Integrator) -> dict[str, Any]:
    """Return its parameters as they start: [N, *shape], or [*shape] for one of the whole model."""
    return {name: jnp.asarray(value) for name, value in _start(integrator).items()}


def moved(integrator: Integrator) -> dict[str, Any]:
    """Return its parameters off their start, so that a wrong use shows.

    The direction depends on the name alone: two integrators that learn one thing get one value.
    """
    return {name: jnp.asarray(_off(name, value)) for name, value in _start(integrator).items()}


def _start(integrator: Integrator) -> dict[str, Any]:
    found = {}
    for name, parameter in declared(integrator).items():
        one = np.asarray(parameter.initial(jax.random.key(0)))
        shape = one.shape if parameter.per == "model" else (_programs.N, *one.shape)
        found[name] = np.broadcast_to(one, shape)
    return found


def _off(name: str, value: Any) -> Any:
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    noise = np.random.default_rng(seed).normal(size=value.shape)
    # A parameter that starts at 0 would hide what it multiplies.
    size = np.where(value == 0, 1.0, np.abs(value))
    return (value + 0.3 * size * noise).astype(np.float32)


def default_readout(integrator: Integrator) -> bool:
    """Whether the head reads the position itself."""
    if isinstance(integrator, Composition):
        return not integrator.reading.coasts
    return type(integrator).readout is Integrator.readout


def one_line(error: BaseException) -> str:
    """Return an error in one line, as a table shows it."""
    line = " ".join(str(error).split()) or "no reason given"
    line = line if len(line) <= 200 else f"{line[:197]}..."
    plain = isinstance(error, (UserError, AssertionError))
    return line if plain else f"{type(error).__name__}: {line}"


def one_copy(own: dict[str, Any], integrator: Integrator) -> dict[str, Any]:
    """Return the parameters of the sub-update halfway."""
    per = declared(integrator)
    return {n: v if per[n].per == "model" else v[_programs.HALF] for n, v in own.items()}


def another(value: Any) -> Any:
    """Return another value of a hyperparameter."""
    return value * 0.9 + 0.0117
