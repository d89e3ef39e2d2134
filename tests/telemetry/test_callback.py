"""The callback in a training loop that knows nothing of this package's trainer."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr
from flax import nnx

from velocity_ledger.integrators import ledger
from velocity_ledger.model import GPT, ModelConfig
from velocity_ledger.telemetry import PathCallback, measure, summarise

CONFIG = ModelConfig(layers=1, width=16, heads=2, hidden=32, context=8, vocabulary=11)
TOKENS = np.random.default_rng(0).integers(0, 11, (4, 8)).astype(np.int32)


def test_a_plain_jax_and_optax_loop(tmp_path):
    graph, params, rest = nnx.split(GPT(CONFIG, ledger(), rngs=0), nnx.Param, ...)
    adam = optax.adam(1e-2)
    state = adam.init(params)

    def loss(params):
        logits = nnx.merge(graph, params, rest)(jnp.asarray(TOKENS))
        terms = optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], TOKENS[:, 1:])
        return terms.mean()

    def update(params, state):
        gradient = jax.grad(loss)(params)
        updates, state = adam.update(gradient, state, params)
        return optax.apply_updates(params, updates), state

    step = jax.jit(update, donate_argnums=(0, 1))

    watch = PathCallback(TOKENS, at=(0, 3, 6, 99))
    for i in range(7):
        watch(i, nnx.merge(graph, params, rest))
        params, state = step(params, state)
    data = watch.dataset()

    assert data["checkpoint"].values.tolist() == [0, 3, 6]
    assert data["step_length"].dims == ("checkpoint", "sub_update", "token")
    assert data["step_length"].shape == (3, 2, 32)
    before, after = summarise(data, 0), summarise(data, 6)
    assert before["path_length"] != after["path_length"]
    fresh = measure(GPT(CONFIG, ledger(), rngs=0), TOKENS)
    np.testing.assert_array_equal(data["path_length"].sel(checkpoint=0), fresh["path_length"])
    data.to_netcdf(tmp_path / "paths.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "paths.nc", engine="h5netcdf") as read:
        xr.testing.assert_identical(read.load(), data)


def test_nnx_optimizer_loop_and_every_call():
    model = GPT(CONFIG, ledger(), rngs=0)
    optimizer = nnx.Optimizer(model, optax.sgd(0.5), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer):
        def loss(model):
            return jnp.mean(model(jnp.asarray(TOKENS)) ** 2)

        optimizer.update(model, nnx.grad(loss)(model))

    watch = PathCallback(TOKENS)
    for i in range(2):
        watch(i, model)
        step(model, optimizer)
    watch(1, model)

    data = watch.dataset()
    assert data["checkpoint"].values.tolist() == [0, 1]
    # The later measurement of step 1 replaced the earlier.
    np.testing.assert_array_equal(data["chord"].sel(checkpoint=1), measure(model, TOKENS)["chord"])


def test_steps_not_asked_for_are_not_measured():
    watch = PathCallback(TOKENS, at=(5,))
    watch(4, GPT(CONFIG, ledger(), rngs=0))
    assert watch.dataset().sizes["checkpoint"] == 0
