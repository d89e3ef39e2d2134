"""What one push does to the rest of the path: the impulse response of an integrator."""

from collections.abc import Mapping
from typing import Any, Literal, SupportsFloat

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from velocity_ledger.errors import UserError
from velocity_ledger.integrators import Field, Integrator, Parameter
from velocity_ledger.record import States
from velocity_ledger.stream import Layer, SubUpdate, run_layers

_WIDTH = 64
# What a shape needs of a model; without tokens nothing of it is looked up.
_SIZES = {"vocabulary": 1, "context": 1}


def impulse_response(
    integrator: Integrator,
    n: int,
    *,
    kind: Literal["gain", "path"] = "gain",
    at: SupportsFloat = 1.0,
    parameters: Mapping[str, Any] | None = None,
) -> Float[np.ndarray, " points"]:
    """How much of a push at one sub-update is in the stream later: n gains, or n + 1 places.

    The fields are constants, f_k(x) = at e + s_k t, so that nothing but the integrator carries a
    push on; a field that is evaluated several times in a sub-update is pushed in each. x_0 and e
    are one vector of root mean square 1, t is orthogonal to it.

        gain[k - 1] = t . d x_n / d s_k / |t|^2,  k = 1..n    x_n as the head reads it
        path[j]     = t . d x_j / d s_1 / |t|^2,  j = 0..n    the position after sub-update j

    For a ledger gain[k - 1] = h (1 - mu^(n-k+1)) and path[j] = h (1 - mu^j), for plain both are h.
    An update that is linear in its fields has one response. Another one, on a sphere or with a norm
    of the velocity, is linearised where every field outputs `at` e, in the direction of the stream
    itself, and what is measured is tangential. Learned parameters have their initial values, or
    those in `parameters`: `[n, *shape]`, or `[*shape]` for what is learned per model. Computed by
    forward differentiation in float32.

    Raises `UserError` for n below 1 and for parameters that are not those declared.
    """
    if n < 1:
        raise UserError(f"an impulse response needs at least one sub-update, got {n}")
    if kind not in ("gain", "path"):
        raise UserError(f"an impulse response is a gain or a path, got {kind!r}")
    own = _parameters(integrator, n, parameters)
    if kind == "gain":
        found = _gains(integrator, own, jnp.float32(at))
    else:
        found = _path(integrator, own, jnp.float32(at))
    return np.asarray(found)


def _parameters(
    integrator: Integrator, n: int, given: Mapping[str, Any] | None
) -> tuple[dict[str, Array], ...]:
    """Every sub-update's own copy."""
    declared = integrator.parameters(_WIDTH)
    if given is not None and set(given) != set(declared):
        raise UserError(
            f"{integrator} declares the parameters {', '.join(declared) or 'none'}, "
            f"got {', '.join(given) or 'none'}"
        )
    own: tuple[dict[str, Array], ...] = tuple({} for _ in range(n))
    for name, parameter in declared.items():
        value = _initial(parameter, n) if given is None else jnp.asarray(given[name])
        shared = given is None or parameter.per == "model"
        for k, copy in enumerate(own):
            copy[name] = value if shared else value[k]
    return own


def _initial(parameter: Parameter, n: int) -> Array:
    return parameter.sized(**_SIZES, sub_updates=n).initial(jax.random.key(0))


def _constant(f: Array, x: Array, key: Any) -> Array:
    del key
    return jnp.broadcast_to(f, x.shape)


def _directions() -> tuple[Array, Array]:
    """Two orthogonal vectors of root mean square 1 and mean 0."""
    place = jnp.arange(_WIDTH)
    return 1.0 - 2.0 * (place % 2), 1.0 - 2.0 * (place // 2 % 2)


def _run(
    integrator: Integrator, own: tuple[dict[str, Array], ...], at: Array, pushes: Array
) -> tuple[Array, Array]:
    """What the head reads and the positions, along t."""
    e, t = _directions()
    kinds = integrator.splitting.kinds
    updates = [
        SubUpdate(Field(at * e + pushes[k] * t, None, _constant), own[k], kinds[k % len(kinds)])
        for k in range(len(own))
    ]
    layers: list[Layer] = [
        tuple(updates[k : k + len(kinds)]) for k in range(0, len(updates), len(kinds))
    ]
    x, recorded = run_layers(layers, e, integrator, record=States())
    return x @ t / _WIDTH, recorded["x"] @ t / _WIDTH


# Not compiled: a program for each of many integrators would cost far more than it saves.
def _gains(integrator: Integrator, own: tuple[dict[str, Array], ...], at: Array) -> Array:
    return jax.jacfwd(lambda pushes: _run(integrator, own, at, pushes)[0])(jnp.zeros(len(own)))


def _path(integrator: Integrator, own: tuple[dict[str, Array], ...], at: Array) -> Array:
    def run(pushes: Array) -> Array:
        return _run(integrator, own, at, pushes)[1]

    none = jnp.zeros(len(own))
    return jax.jvp(run, (none,), (none.at[0].set(1.0),))[1]
