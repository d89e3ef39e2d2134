"""Null models: what an integrator's path looks like when its increments know nothing."""

from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from velocity_ledger.errors import UserError
from velocity_ledger.integrators import Field, Integrator
from velocity_ledger.record import PathStatistics
from velocity_ledger.stream import SubUpdate, run_layers
from velocity_ledger.telemetry._dataset import path_dataset
from velocity_ledger.telemetry._summary import summarise

_COUNTS = {"angles", "zero_steps"}


def _frames(
    rng: np.random.Generator, frames: int, vectors: int, width: int
) -> Float[np.ndarray, "frames vectors width"]:
    """Random orthonormal vectors, uniform over rotations; beyond `width`, in groups of `width`."""
    groups = []
    while vectors > 0:
        count = min(vectors, width)
        q, r = np.linalg.qr(rng.standard_normal((frames, width, count)))
        # QR alone leaves the signs to the algorithm.
        q = q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
        groups.append(np.swapaxes(q, 1, 2))
        vectors -= count
    return np.concatenate(groups, axis=1)


def _output(given: tuple[Array, Integrator], x: Array, key: Any) -> Array:
    """A field whose output is read as the increment that is given."""
    del key
    increment, integrator = given
    return integrator.push(x, increment)


@jax.jit
def _run(
    integrator: Integrator,
    x: Float[Array, "frames width"],
    increments: Float[Array, "sub_updates frames width"],
    parameters: Mapping[str, Array],
) -> dict[str, Float[Array, "*sub_updates frames"]]:
    # Scanned, so that the program is one sub-update however deep the model is.
    depth = len(increments)
    each = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (depth, *jnp.shape(leaf))), integrator)
    layer = (SubUpdate(Field((increments, each), None, _output), parameters),)
    _, recorded = run_layers(layer, x, integrator, scan=True, depth=depth, record=PathStatistics())
    return recorded


def _per_sub_update(
    integrator: Integrator, width: int, n: int, given: Mapping[str, Any] | None
) -> dict[str, Float[Array, "sub_updates ..."]]:
    declared = integrator.parameters(width)
    if given is not None and set(given) != set(declared):
        raise UserError(
            f"{integrator} declares the parameters {', '.join(declared) or 'none'}, "
            f"got {', '.join(given) or 'none'}"
        )
    own = {}
    for name, unsized in declared.items():
        parameter = unsized.sized(sub_updates=n)
        value = parameter.initial(jax.random.key(0)) if given is None else jnp.asarray(given[name])
        shared = given is None or parameter.per == "model"
        own[name] = jnp.broadcast_to(value, (n, *value.shape)) if shared else value
    return own


def null_path(
    integrator: Integrator,
    *,
    sub_updates: int,
    increments: Sequence[SupportsFloat] | Float[np.ndarray, " sub_updates"],
    initial_norm: SupportsFloat,
    width: int,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    frames: int = 4,
) -> dict[str, float]:
    """The integrator's path over mutually orthogonal increments of the given lengths.

    The k-th increment is increments[k] e_k and x_0 = initial_norm e_0, with e_0..e_n orthonormal in
    `width` dimensions: increments as unrelated as directions allow. The integrator itself runs,
    with its learned `parameters` (as `integrate` takes them and `GPT.integrator_parameters` gives
    them), so the null is right for every momentum, geometry and step scale; on a sphere x_0 is a
    uniformly random point. An increment is what `increment` measures: the field's output as the
    geometry reads it, so the field puts out what is read so (`Geometry.push`). Where outputs are
    targets t on a sphere, an increment t - x has the given length and, across x, the direction e_k;
    unrelated targets are those at distance sqrt(2) r. The result, keyed as `summarise`, is the mean
    over `frames` random frames drawn from `seed`; without learned parameters it does not depend on
    the frame. Where n + 1 exceeds the width, the vectors are orthogonal within groups of `width`.

    Closed forms, 12 equal increments: Euler turns 90 degrees with straightness 1 / sqrt(12); the
    damped heavy ball at mu = .9 has .1848 of that path, turns 32.3 degrees (arccos mu = 25.8 in
    the limit of many sub-updates) and has straightness .782.

    Raises `UserError` for other than `sub_updates` increments, for sizes below 1, and for
    parameters that are not those declared.
    """
    lengths = np.asarray(increments, np.float64)
    if lengths.shape != (sub_updates,) or min(sub_updates, width, frames) < 1:
        raise UserError(
            f"a null path needs one increment a sub-update, got shape {lengths.shape} for "
            f"{sub_updates} sub-updates in width {width} over {frames} frames"
        )
    frame = _frames(np.random.default_rng(seed), frames, sub_updates + 1, width)
    x0 = float(initial_norm) * frame[:, 0]
    steps = lengths[:, None, None] * np.swapaxes(frame[:, 1:], 0, 1)
    own = _per_sub_update(integrator, width, sub_updates, parameters)
    recorded = _run(integrator, x0.astype(np.float32), steps.astype(np.float32), own)
    flat = {name: np.asarray(value) for name, value in recorded.items()}
    summary = summarise(path_dataset({0: flat}, windows=frames), 0)
    return {name: value for name, value in summary.items() if name not in _COUNTS}


def null_of_checkpoint(
    dataset: xr.Dataset,
    checkpoint: int,
    integrator: Integrator,
    *,
    width: int,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> dict[str, float]:
    """`null_path` with the mean increments and mean |x_0| measured at one training step.

    Stands beside `summarise(dataset, checkpoint)` under the same names. Raises `UserError` where
    the dataset lacks `increment` or `initial_norm`, or the step was not measured.
    """
    missing = [name for name in ("increment", "initial_norm") if name not in dataset]
    if missing or checkpoint not in dataset["checkpoint"].values:
        raise UserError(
            f"a null path needs increment and initial_norm measured at step {checkpoint}, "
            f"the dataset has {', '.join(map(str, dataset.data_vars)) or 'nothing'} at "
            f"{dataset['checkpoint'].values.tolist()}"
        )
    at = dataset.sel(checkpoint=checkpoint)
    increments = at["increment"].astype(np.float64).mean("token").values
    return null_path(
        integrator,
        sub_updates=len(increments),
        increments=increments,
        initial_norm=float(at["initial_norm"].astype(np.float64).mean()),
        width=width,
        parameters=parameters,
        seed=seed,
    )
