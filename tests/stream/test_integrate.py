"""`integrate` over any list of callables."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import velocity_ledger as vl
from velocity_ledger.record import Nothing, PathStatistics, States

X = jax.random.normal(jax.random.key(0), (2, 4))


def test_functions_and_modules_together():
    linear = nnx.Linear(4, 4, rngs=nnx.Rngs(0))
    x, nothing = vl.integrate([jnp.tanh, linear], X, vl.plain())
    first = X + jnp.tanh(X)
    np.testing.assert_allclose(x, first + linear(first), rtol=1e-6)
    assert nothing is None


def test_no_fields_leave_the_stream_where_it_starts():
    x, path = vl.integrate([], X, vl.ledger(), record=PathStatistics())
    np.testing.assert_array_equal(x, X)
    assert bool(jnp.all(path["path_length"] == 0))


def test_gradients_reach_a_modules_weights_and_a_traced_field():
    linear = nnx.Linear(4, 4, rngs=nnx.Rngs(0))
    gradient = nnx.grad(lambda m: vl.integrate([m, m], X, vl.ledger())[0].sum())(linear)
    assert bool(jnp.all(gradient["kernel"][...] != 0))

    def loss(scale):
        return vl.integrate([lambda x: scale * x], X, vl.plain())[0].sum()

    np.testing.assert_allclose(jax.grad(loss)(2.0), X.sum(), rtol=1e-5)


def test_a_field_with_a_key_gets_one_of_its_own():
    seen = []

    def noisy(x, *, key):
        seen.append(key)
        return x * 0 if key is None else jax.random.normal(key, x.shape)

    vl.integrate([noisy, noisy], X, vl.plain())
    assert seen == [None, None]
    _, path = vl.integrate([noisy, noisy], X, vl.plain(), key=jax.random.key(0), record=States())
    assert bool(jnp.all(path["step"][0] != path["step"][1]))


def test_two_evaluations_in_one_step_draw_the_same_mask():
    class Twice(vl.Integrator):
        def step(self, field, stream, state, ctx):
            a, b = field(stream), field(stream)
            return stream + (a - b), state, vl.Info(increment=a, raw_step=a - b, step=a - b)

    noisy = lambda x, key: jax.random.normal(key, x.shape)  # noqa: E731
    x, _ = vl.integrate([noisy], X, Twice(), key=jax.random.key(0))
    np.testing.assert_array_equal(x, X)


def test_context_says_where_in_depth_a_step_stands():
    seen = []

    class Watches(vl.Integrator):
        def step(self, field, stream, state, ctx):
            seen.append((int(ctx.index), ctx.total, ctx.kind, ctx.key is None, ctx.inputs))
            f = field(stream)
            return stream + f, state, vl.Info(increment=f, raw_step=f, step=f)

    vl.integrate([jnp.tanh] * 3, X, Watches(), inputs="tokens")
    assert seen == [(k, 3, "field", True, "tokens") for k in range(3)]


def test_nobody_shares_the_bits_of_the_fields_key():
    """What an integrator draws, split or folded, is not what the field's dropout draws."""
    seen = {}

    def field(x, key):
        seen.setdefault("field", []).append(key)
        return x

    class Random(vl.Integrator):
        def init(self, x0, ctx):
            seen.setdefault("own", []).append(ctx.key)
            return x0, ()

        def step(self, field, stream, state, ctx):
            seen["own"].append(ctx.key)
            f = field(stream)
            return stream + f, state, vl.Info(increment=f, raw_step=f, step=f)

        def readout(self, stream, state, ctx):
            seen["own"].append(ctx.key)
            return stream

    vl.integrate([field] * 3, X, Random(), key=jax.random.key(0))
    every = [k for keys in seen.values() for k in keys]
    every += [k for key in every for k in (jax.random.fold_in(key, i) for i in range(4))]
    assert len({tuple(jax.random.key_data(k).tolist()) for k in every}) == len(every)


def test_the_readout_has_its_parameters():
    class Reads(vl.Integrator):
        def parameters(self, width):
            return {"gain": vl.Parameter((), 3.0, per="model")}

        def step(self, field, stream, state, ctx):
            f = field(stream)
            return stream + f, state, vl.Info(increment=f, raw_step=f, step=f)

        def readout(self, stream, state, ctx):
            return stream * ctx.parameters["gain"]

    x, _ = vl.integrate([jnp.zeros_like], X, Reads())
    np.testing.assert_allclose(x, 3 * X)


def test_a_readout_that_is_not_the_position():
    class Ahead(vl.Integrator):
        def init(self, x0, ctx):
            return x0, jnp.zeros_like(x0)

        def step(self, field, stream, state, ctx):
            f = field(stream)
            return stream + f, f, vl.Info(increment=f, raw_step=f, step=f, velocity=f)

        def readout(self, stream, state, ctx):
            return stream + state

    x, path = vl.integrate([jnp.ones_like] * 2, X, Ahead(), record=States())
    np.testing.assert_allclose(path["x"][-1], X + 2, rtol=1e-6)
    np.testing.assert_allclose(x, X + 3, rtol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({}, "declares the parameters alpha"),
        ({"alpha": jnp.ones((3, 4))}, r"shape \(3, 4\), not \(2, 4\)"),
        ({"alpha": jnp.ones((2, 4)), "beta": jnp.ones(1)}, "declares the parameters alpha"),
    ],
)
def test_parameters_that_are_not_those_declared(parameters, word):
    with pytest.raises(vl.UserError, match=word):
        vl.integrate([jnp.tanh] * 2, X, vl.ngpt_lite(), parameters=parameters)


def test_recording_nothing_costs_nothing():
    def program(recorder):
        run = lambda x: vl.integrate([jnp.tanh] * 4, x, vl.ledger(), record=recorder)[0]  # noqa: E731
        return str(jax.make_jaxpr(run)(X))

    assert program(None) == program(Nothing())


def test_statistics_keep_no_array_of_all_states():
    x = jnp.zeros((2, 7, 64))
    run = lambda x: vl.integrate([jnp.tanh] * 9, x, vl.ledger(), record=PathStatistics())[1]  # noqa: E731
    sizes = {name: a.size for name, a in jax.eval_shape(run, x).items()}
    assert max(sizes.values()) == 9 * 2 * 7


def test_what_is_no_array_reaches_the_next_sub_update_as_it_is():
    seen = []

    class Counts(vl.Integrator):
        def init(self, x0, ctx):
            return x0, (0, "begun")

        def step(self, field, stream, state, ctx):
            count, word = state
            seen.append((count, word))
            f = field(stream)
            return stream + f, (count + 1, "going"), vl.Info(increment=f, raw_step=f, step=f)

    jax.jit(lambda x: vl.integrate([jnp.tanh] * 3, x, Counts())[0])(X)
    assert seen == [(0, "begun"), (1, "going"), (2, "going")]
    assert all(type(count) is int for count, _ in seen)
