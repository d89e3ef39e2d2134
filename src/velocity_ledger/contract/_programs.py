"""The few programs that all checks share, over fields so small that they compile in a blink.

The integrator is an argument: its numbers are data, so all settings of one structure, and all
checks, share one compilation.
"""

import dataclasses as dc
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from velocity_ledger.integrators import Context, Field, Info, Integrator
from velocity_ledger.stream import SubUpdate, run_layers

WIDTH, BATCH, TIME, N, VOCABULARY = 8, 3, 4, 6, 5
HALF = N // 2
LEAVES = 16
"""How many arrays of a stream and its state are watched."""

TOKENS = np.random.default_rng(3).integers(0, VOCABULARY, (BATCH, TIME))
KEY_SEED = 5
_KEPT = 48  # of 64: the share of the outputs that a field's dropout keeps

traces: list[str] = []
"""Every trace of a program is noted here, so that one too many is seen."""


def apply(params: Any, x: Any, key: Any) -> Any:
    """tanh(x W) + b, a bounded field that ends in a sum, and dropout as a selection."""
    f = jnp.tanh(x @ params["w"].astype(x.dtype)) + params["b"].astype(x.dtype)
    if key is None:
        return f
    return jnp.where(_bits(key, f.shape) % 64 < _KEPT, f, 0)


def _bits(key: Any, shape: tuple[int, ...]) -> Any:
    """Bits from a key by a few products: to compile a real generator takes longer than the rest."""
    words = jax.random.key_data(key).astype(jnp.uint32)
    place = np.arange(np.prod(shape), dtype=np.uint32).reshape(shape)
    mixed = (place * np.uint32(2654435761) + words[0]) ^ words[-1]
    mixed = (mixed ^ (mixed >> 15)) * np.uint32(2246822519)
    mixed = (mixed ^ (mixed >> 13)) * np.uint32(3266489917)
    return mixed >> 20


def weights(seed: int = 0) -> dict[str, Any]:
    """Return the weights of N fields, stacked."""
    rng = np.random.default_rng(seed)
    return {
        "w": jnp.asarray(rng.normal(size=(N, WIDTH, WIDTH)) / WIDTH**0.5, jnp.float32),
        "b": jnp.asarray(rng.normal(size=(N, WIDTH)) * 0.3, jnp.float32),
    }


def silent_weights(bias: float = 0.0) -> dict[str, Any]:
    """Return weights of fields that give `bias` everywhere."""
    return jax.tree.map(lambda w: jnp.zeros_like(w), weights()) | {
        "b": jnp.full((N, WIDTH), bias, jnp.float32)
    }


def start(dtype: Any = jnp.float32) -> Any:
    """Return x_0, [batch, time, width]."""
    drawn = np.random.default_rng(1).normal(size=(BATCH, TIME, WIDTH))
    return jnp.asarray(drawn, dtype)


def still() -> Any:
    """A nudge of nothing."""
    return jnp.zeros(LEAVES, jnp.float32)


class Watched(Integrator):
    """An integrator whose whole state is shown, and moved a little halfway where asked.

    `nudge` holds one number for each array of (stream, state): how far it is moved, in a fixed
    direction, before sub-update HALF.
    """

    inner: Any
    nudge: Any

    def init(self, x0: Any, ctx: Context) -> tuple[Any, Any]:
        return self.inner.init(x0, ctx)

    def step(self, field: Field, stream: Any, state: Any, ctx: Context) -> tuple[Any, Any, Info]:
        stream, state, info = self.inner.step(field, stream, state, ctx)
        info = dc.replace(info, velocity=(info.velocity, state))
        now = jnp.asarray(ctx.index) == HALF - 1
        leaves, structure = jax.tree.flatten((stream, state))
        floats = [i for i, leaf in enumerate(leaves) if is_real(leaf)]
        for number, i in enumerate(floats[:LEAVES]):
            leaves[i] = _nudged(leaves[i], jnp.where(now, self.nudge[number], 0), number)
        stream, state = jax.tree.unflatten(structure, leaves)
        return stream, state, info

    def position(self, stream: Any) -> Any:
        return self.inner.position(stream)

    def readout(self, stream: Any, state: Any, ctx: Context) -> Any:
        return self.inner.readout(stream, state, ctx)


def is_real(leaf: Any) -> bool:
    """Whether an array of a state holds real numbers: neither counts nor keys."""
    dtype = leaf.dtype if hasattr(leaf, "dtype") else jnp.result_type(leaf)
    return bool(jnp.issubdtype(dtype, jnp.floating))


def _nudged(leaf: Any, amount: Any, number: int) -> Any:
    direction = np.abs(np.random.default_rng(100 + number).normal(size=leaf.shape))
    return leaf + (amount * direction).astype(leaf.dtype)


class Everything:
    """A recorder that keeps all that is shown, by name and stacked over sub-updates."""

    def init(self, x0: Any) -> Any:
        return x0

    def update(
        self, kept: Any, x_before: Any, x_after: Any, info: Info, ctx: Context
    ) -> tuple[Any, Any]:
        del x_before, ctx
        velocity, state = info.velocity
        row = {"x": x_after, "step": info.step, "raw_step": info.raw_step, "state": state}
        return kept, row | {"increment": info.increment, "velocity": velocity}

    def finish(self, kept: Any, rows: Any, x_n: Any) -> Any:
        del x_n
        return {**rows, "x": jnp.concatenate([kept[None], rows["x"]])}


def scanned(
    params: Any, own: Mapping[str, Any], x: Any, tokens: Any, key: Any, integrator: Any, nudge: Any
) -> dict[str, Any]:
    """Everything of a path through N fields, scanned; see `path`."""
    traces.append(type(integrator).__name__)
    declared = integrator.parameters(x.shape[-1])
    stacked = {
        name: jnp.broadcast_to(value, (N, *value.shape)) if declared[name].per == "model" else value
        for name, value in own.items()
    }
    layer = (SubUpdate(Field(params, None, apply), stacked, "field"),)
    x_n, seen = run_layers(
        layer,
        x,
        Watched(integrator, nudge),
        scan=True,
        depth=N,
        record=Everything(),
        key=key,
        inputs=tokens,
    )
    return seen | {"x_n": x_n}


_path = jax.jit(scanned)
# What need not be the program of a training run, bit for bit, is compiled in half of the time.
QUICKLY: dict[str, Any] = {"xla_backend_optimization_level": 0}


def path(
    integrator: Any,
    own: Mapping[str, Any],
    params: Any = None,
    x: Any = None,
    key: Any = None,
    nudge: Any = None,
    wide: bool = False,
) -> dict[str, Any]:
    """Return everything of a path through N fields, scanned and compiled.

    x [N + 1, batch, time, width], step, raw_step, increment, velocity and state [N, ...], and x_n,
    what a head would read. In float64 where the integrator amplifies rounding, or `wide`.
    """
    params = weights() if params is None else params
    nudge = still() if nudge is None else nudge
    with jax.enable_x64(wide or integrator.amplifies):
        x = _precise(start() if x is None else x, wide or integrator.amplifies)
        return _path(params, own, x, TOKENS, key, integrator, nudge)


def _precise(x: Any, wide: bool) -> Any:
    return x.astype(jnp.float64) if wide else x


def looped(
    integrator: Any, own: Mapping[str, Any], params: Any = None, key: Any = None
) -> dict[str, Any]:
    """The same path, sub-update by sub-update, and not compiled."""
    params = weights() if params is None else params
    declared = integrator.parameters(WIDTH)
    layers = [
        (
            SubUpdate(
                Field(jax.tree.map(lambda w, k=k: w[k], params), None, apply),
                {n: v if declared[n].per == "model" else v[k] for n, v in own.items()},
                "field",
            ),
        )
        for k in range(N)
    ]
    wrapped = Watched(integrator, still())
    with jax.enable_x64(integrator.amplifies):
        x = _precise(start(), integrator.amplifies)
        x_n, seen = run_layers(
            layers, x, wrapped, record=Everything(), key=key, inputs=jnp.asarray(TOKENS)
        )
    return seen | {"x_n": x_n}


def _loss(
    params: Any, own: Any, x: Any, tokens: Any, integrator: Any
) -> tuple[Any, dict[str, Any]]:
    seen = scanned(params, own, x, tokens, None, integrator, still())
    rng = np.random.default_rng(9)
    # A number that every state has a part in, each entry another one.
    of_path = rng.normal(size=(N + 1, TIME, WIDTH))
    of_end = rng.normal(size=(TIME, WIDTH))
    ends = {name: seen[name] for name in ("x", "x_n")}
    return jnp.sum(of_path * seen["x"]) + jnp.sum(of_end * seen["x_n"]), ends


_gradients = jax.jit(
    jax.vmap(
        jax.value_and_grad(_loss, argnums=(0, 1), has_aux=True),
        in_axes=(None, None, 0, 0, None),
    ),
    compiler_options=QUICKLY,
)


def gradients(
    integrator: Any, own: Mapping[str, Any], params: Any = None, x: Any = None
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return a number of the path, the path and x_n, and the gradient, sample by sample.

    The gradient is by weights and own parameters; a vmap over the batch of a gradient of a
    scan, compiled.
    """
    params = weights() if params is None else params
    with jax.enable_x64(integrator.amplifies):
        x = _precise(start() if x is None else x, integrator.amplifies)
        (value, seen), found = _gradients(params, own, x, TOKENS, integrator)
    return value, seen, dict(zip(("weights", "own"), found, strict=True))
