"""The heavy ball's identities, which hold for any field."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import velocity_ledger as vl
from integrators import tiny_fields as tiny
from velocity_ledger.contract import CHECKS, Subject
from velocity_ledger.record import States

mus = st.floats(0.0, 0.99)
hs = st.floats(0.05, 1.5)
seeds = st.integers(0, 2**16)
few = settings(max_examples=25)
(every_parameter_is_heard,) = [c for c in CHECKS if c.__name__ == "every_parameter_is_heard"]
ATOL = 1e-5  # float32 sums of n = 6 steps of size about 1

_recorded = jax.jit(
    lambda params, x, integrator: vl.integrate(tiny.fields(params), x, integrator, record=States())
)


def recorded(integrator, seed):
    params = tiny.weights(seed)
    x_n, path = _recorded(params, tiny.start(seed + 1), integrator)
    increments = jnp.stack(
        [tiny.apply(p, x, None) for p, x in zip(params, path["x"][:-1], strict=True)]
    )
    return x_n, path, increments


@few
@given(mus, hs, seeds)
def test_the_one_variable_form(mu, h, seed):
    """x_{k+1} = x_k + mu (x_k - x_{k-1}) + h (1 - mu) f_k, with x_{-1} = x_0."""
    _, path, f = recorded(vl.ledger(mu=mu, h=h), seed)
    x = path["x"]
    before = jnp.concatenate([x[:1], x[:-2]])
    np.testing.assert_allclose(x[1:], x[:-1] + mu * (x[:-1] - before) + h * (1 - mu) * f, atol=ATOL)


@few
@given(mus, hs, seeds)
def test_the_total_gain_of_each_block(mu, h, seed):
    """x_n = x_0 + h sum_k (1 - mu^(n - k + 1)) f_k, k = 1..n."""
    x_n, path, f = recorded(vl.ledger(mu=mu, h=h), seed)
    gains = h * (1 - mu ** np.arange(tiny.N, 0, -1))
    np.testing.assert_allclose(
        x_n, path["x"][0] + jnp.tensordot(gains.astype(np.float32), f, 1), atol=ATOL
    )


@few
@given(mus, hs, seeds)
def test_reading_out_the_velocity_restores_every_gain(mu, h, seed):
    """x_n + h mu / (1 - mu) v_n = x_0 + h sum_k f_k."""
    mu = min(mu, 0.95)  # the factor mu / (1 - mu) multiplies the rounding too
    x_n, path, f = recorded(vl.ledger(mu=mu, h=h), seed)
    full = x_n + h * mu / (1 - mu) * path["velocity"][-1]
    np.testing.assert_allclose(full, path["x"][0] + h * f.sum(0), atol=20 * ATOL)


@few
@given(mus, hs, seeds)
def test_the_velocity_is_what_is_integrated(mu, h, seed):
    """h v_{k+1} = x_{k+1} - x_k, up to the rounding of the stream."""
    _, path, _ = recorded(vl.ledger(mu=mu, h=h), seed)
    np.testing.assert_allclose(path["step"], h * path["velocity"], atol=1e-6)


@few
@given(seeds)
def test_mu_one_freezes_the_stream(seed):
    x_n, path, _ = recorded(vl.ledger(mu=1.0), seed)
    np.testing.assert_array_equal(x_n, path["x"][0])


@few
@given(mus, seeds)
def test_undamped_is_damped_with_a_larger_step(mu, seed):
    """v without damping is v / (1 - mu) with it."""
    a, _, _ = recorded(vl.ledger(mu=mu, h=1 - mu, damped=False), seed)
    b, _, _ = recorded(vl.ledger(mu=mu), seed)
    np.testing.assert_allclose(a, b, atol=ATOL)


@few
@given(mus, seeds)
def test_debias_makes_the_first_step_plain(mu, seed):
    _, path, f = recorded(vl.ledger(mu=mu, debias=True), seed)
    np.testing.assert_allclose(path["step"][0], f[0], rtol=2e-5, atol=1e-6)


def test_a_constant_field_is_followed_at_full_speed_only_with_debias():
    constant = [lambda x: jnp.ones_like(x)] * 12
    x = jnp.zeros((1, 4))
    debiased, _ = vl.integrate(constant, x, vl.ledger(debias=True))
    np.testing.assert_allclose(debiased, 12.0, rtol=1e-5)
    biased, _ = vl.integrate(constant, x, vl.ledger())
    np.testing.assert_allclose(biased, sum(1 - 0.9**k for k in range(1, 13)), rtol=1e-5)


def test_an_undamped_mu_is_not_heard_where_there_is_no_velocity_yet():
    """It multiplies a velocity of zero, and the gain of the field is 1."""
    undamped = "compose(heavy_ball(mu=learned(.9), damped=False), flat(), fixed())"
    every_parameter_is_heard(Subject(undamped))
    assert not vl.parse("learned-ledger").parameters(8)["mu"].zero_gradient


def test_mu_zero_is_plain_for_any_field_without_jit():
    """Fields that end in a product too: nothing is compiled, so nothing is contracted."""

    def product(x):
        return jnp.sin(x) * (x + 0.3)

    x = tiny.start()
    with jax.disable_jit():
        plain, _ = vl.integrate([product] * 5, x, vl.plain())
        ledger, _ = vl.integrate([product] * 5, x, vl.ledger(mu=0.0))
    np.testing.assert_array_equal(plain, ledger)


def test_mu_zero_is_plain_to_tolerance_for_a_compiled_field_that_ends_in_a_product():
    def product(x):
        return jnp.sin(x) * (x + 0.3)

    run = jax.jit(lambda x, i: vl.integrate([product] * 5, x, i)[0])
    x = tiny.start()
    np.testing.assert_allclose(run(x, vl.plain()), run(x, vl.ledger(mu=0.0)), rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"mu": 1.5}, "between"),
        ({"mu": float("nan")}, "between"),
        ({"mu": 1.0, "debias": True}, "debias"),
        ({"mu": -1.0, "debias": True}, "debias"),
        ({"damped": False, "debias": True}, "damped"),
        ({"h": float("inf")}, "finite"),
    ],
)
def test_refused_hyperparameters(arguments, word):
    with pytest.raises(vl.UserError, match=word):
        vl.ledger(**arguments)
