"""What one push does to the rest of the path: the impulse response of an integrator."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat

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
    kind: str = "gain",
    at: SupportsFloat | Sequence[float] = 1.0,
    parameters: Mapping[str, Any] | None = None,
) -> Float[np.ndarray, "*states points"]:
    """How much of a push at one sub-update is in the stream later: n gains, or n + 1 places.

    The fields are constants, f_k(x) = at e + s_k t, so that nothing but the integrator carries a
    push on; a field that is evaluated several times in a sub-update is pushed in each. x_0 and e
    are one vector of root mean square 1, t is orthogonal to it.

        gain[k - 1] = t . d x_n / d s_k / |t|^2,  k = 1..n    x_n as the head reads it
        path[j]     = t . d x_j / d s_1 / |t|^2,  j = 0..n    the position after sub-update j

    For a ledger gain[k - 1] = h (1 - mu^(n-k+1)) and path[j] = h (1 - mu^j), for plain both are h.
    An update that is linear in its fields has one response. Another one, on a sphere or with a norm
    of the velocity, is linearised where every field outputs `at` e, in the direction of the stream
    itself, and what is measured is tangential; several `at` give one row each. Learned parameters
    have their initial values, or those in `parameters`: `[n, *shape]`, or `[*shape]` for what is
    learned per model. Computed by forward differentiation, in float32.

    Raises `UserError` for n below 1, another `kind` and parameters that are not those declared.
    """
    if n < 1:
        raise UserError(f"an impulse response needs at least one sub-update, got {n}")
    if kind not in ("gain", "path"):
        raise UserError(f"an impulse response is a gain or a path, got {kind!r}")
    own = _parameters(integrator, n, parameters)
    sizes = jnp.asarray(at, jnp.float32)
    gain, path = _responses(integrator, own, jnp.atleast_1d(sizes))
    found = np.asarray(gain if kind == "gain" else path)
    return found if sizes.ndim else found[0]


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


def _responses(
    integrator: Integrator, own: tuple[dict[str, Array], ...], at: Float[Array, " states"]
) -> tuple[Float[Array, "states n"], Float[Array, "states places"]]:
    """Gains and path. Each push has a row of the batch, and rows do not see each other.

    Not compiled: a program for each of many integrators would cost far more than it saves.
    """
    e, t = _directions()
    n, kinds = len(own), integrator.splitting.kinds
    rows = jnp.eye(n)

    def run(size: Array) -> tuple[Array, Array]:
        updates = [
            SubUpdate(Field(base + size * rows[k][:, None] * t, None, _constant), own[k], kind)
            for k, kind in zip(range(n), itertools.cycle(kinds), strict=False)
        ]
        layers: list[Layer] = [tuple(updates[k : k + len(kinds)]) for k in range(0, n, len(kinds))]
        x, recorded = run_layers(layers, x0, integrator, record=States())
        return x, recorded["x"]

    base = jnp.broadcast_to(at[:, None, None] * e, (len(at), n, _WIDTH))
    x0 = jnp.broadcast_to(e, base.shape)
    _, (x, positions) = jax.jvp(run, (jnp.float32(0),), (jnp.float32(1),))
    return x @ t / _WIDTH, (positions[:, :, 0] @ t / _WIDTH).T
