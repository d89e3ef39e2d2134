"""Impulse responses against closed forms."""

import inspect

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import velocity_ledger as vl

N = 6
K = np.arange(1, N + 1)
J = np.arange(N + 1)

GAINS = {
    "plain(h=.3)": np.full(N, 0.3),
    "ledger(mu=.8, h=.5)": 0.5 * (1 - 0.8 ** (N - K + 1)),
    "ledger(mu=.8, damped=False)": (1 - 0.8 ** (N - K + 1)) / 0.2,
    "damped-euler(mu=.8)": 1 - 0.8 ** (N - K + 1),
    "learned-ledger(mu=.8)": 1 - 0.8 ** (N - K + 1),
    "nesterov(mu=.8, gamma=.2)": 1 - 0.8 ** (N - K + 1),
    "layer-scale": np.full(N, 0.1),
    "rezero": np.zeros(N),
    # The two-step rules: x_(k+1) = 2 x_k - x_(k-1) + f, x_(k+1) = x_(k-1) + 2 h f.
    "leapfrog": N - K + 1.0,
    "midpoint": np.where((N - K) % 2 == 0, 1.0, 0.0),
    # 3/2 now and -1/2 with the next field; the first is taken whole.
    "adams-bashforth": np.array([0.5, *[1.0] * (N - 2), 1.5]),
    # Several evaluations of one constant field are one of it.
    "heun(h=.4)": np.full(N, 0.4),
    "rk4(h=.4)": np.full(N, 0.4),
    "bdia": np.ones(N),
    # Each stream takes every other push, and the head reads the one that was written last.
    "staggered(h=.5)": np.where((N - K) % 2 == 0, 0.5, 0.0),
    "compose(heavy_ball(mu=linear(.5, .5)), flat(), fixed())": 1 - 0.5 ** (N - K + 1),
    # At rest the target pulls what is there back by 1 - alpha.
    "ngpt-step(alpha=.3)": 0.3 * 0.7 ** (N - K),
    # x + alpha (e + t) is retracted: what was there shrinks by 1 + alpha, and so does the push.
    "ngpt-lite(alpha=.5)": 0.5 / 1.5 ** (N - K + 1),
}


@pytest.mark.parametrize("form", GAINS, ids=str)
def test_gains_are_those_of_the_closed_form(form):
    gain = vl.impulse_response(vl.parse(form), N)
    np.testing.assert_allclose(gain, GAINS[form], rtol=3e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("form", "path"),
    [
        ("plain(h=.3)", np.where(J > 0, 0.3, 0)),
        ("ledger(mu=.8)", 1 - 0.8**J),
        ("leapfrog", 1.0 * J),
        ("midpoint", J % 2),
        ("ngpt-step(alpha=.3)", np.where(J > 0, 0.3 * 0.7 ** (J - 1.0), 0)),
        ("staggered", np.where(J > 0, 0.5, 0)),
    ],
)
def test_the_path_after_a_push(form, path):
    found = vl.impulse_response(vl.parse(form), N, kind="path")
    np.testing.assert_allclose(found, path, rtol=3e-6, atol=1e-6)


@settings(max_examples=8)
@given(mu=st.floats(-0.95, 0.95), h=st.floats(0.1, 2), n=st.sampled_from((1, 4)))
def test_a_ledgers_gains_for_any_mu(mu, h, n):
    gain = vl.impulse_response(vl.ledger(mu=mu, h=h), n)
    expected = h * (1 - mu ** (n - np.arange(1, n + 1) + 1))
    np.testing.assert_allclose(gain, expected, rtol=1e-5, atol=1e-6)
    # A constant push to all of them arrives as the sum of the gains.
    x0 = jnp.zeros((1, 4))
    end, _ = vl.integrate([jnp.ones_like] * n, x0, vl.ledger(mu=mu, h=h))
    np.testing.assert_allclose(end[0, 0], gain.sum(), rtol=1e-5, atol=1e-6)


def test_a_linear_update_answers_alike_everywhere_and_a_sphere_does_not():
    for name, same in (("ledger", True), ("leapfrog", True), ("ngpt-lite", False),
                       ("hbformer", False)):  # fmt: skip
        rows = vl.impulse_response(vl.parse(name), N, at=(1.0, 0.25))
        assert rows.shape == (2, N)
        assert np.allclose(rows[0], rows[1], rtol=1e-4) is same, name


def test_a_derivative_is_the_limit_of_differences():
    """The ledger's norm of a velocity, by hand: both directions stay in their plane."""
    integrator, small = vl.parse("polyak-shear"), 1e-2
    e, t = np.tile([1.0, -1.0], 8), np.tile([1.0, 1.0, -1.0, -1.0], 4)

    def end(push):
        pushes = [push if k == 2 else 0.0 for k in range(N)]
        fields = [lambda x, p=p: jnp.broadcast_to(jnp.asarray(e + p * t), x.shape) for p in pushes]
        x_n, _ = vl.integrate(fields, jnp.asarray(e, jnp.float32)[None], integrator)
        return float(x_n[0] @ t) / len(t)

    gain = vl.impulse_response(integrator, N)[2]
    assert (end(small) - end(-small)) / (2 * small) == pytest.approx(gain, rel=1e-3)


def test_learned_values_can_be_given():
    integrator = vl.parse("rezero")
    steps = jnp.arange(N) / 10
    gain = vl.impulse_response(integrator, N, parameters={"h": steps})
    np.testing.assert_allclose(gain, steps, rtol=1e-6)


@pytest.mark.parametrize(
    ("given", "said"),
    [({"n": 0}, "at least one"), ({"kind": "gains"}, "gain or a path"),
     ({"parameters": {"nu": 1}}, "declares")],
)  # fmt: skip
def test_a_mistake_is_told(given, said):
    given = {"n": N} | given
    # As without the type checks of the tests.
    with pytest.raises(vl.UserError, match=said):
        inspect.unwrap(vl.impulse_response)(vl.ledger(), **given)
