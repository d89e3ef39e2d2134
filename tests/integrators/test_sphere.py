"""Retraction: exact on every scale, and finite where it has no direction to keep."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import velocity_ledger as vl


@settings(max_examples=50)
@given(st.integers(0, 2**16), st.integers(-30, 30), st.floats(0.1, 100))
def test_the_norm_is_the_radius_on_every_scale(seed, exponent, radius):
    x = np.random.default_rng(seed).normal(size=(4, 7)).astype(np.float32) * 10.0**exponent
    y = np.asarray(vl.retract(jnp.asarray(x, jnp.float32), radius), np.float64)
    np.testing.assert_allclose(np.linalg.norm(y, axis=-1), radius, rtol=1e-6)
    unit = x / np.linalg.norm(x.astype(np.float64), axis=-1, keepdims=True)
    np.testing.assert_allclose(y / radius, unit, atol=1e-6)


def test_value_and_gradient_are_finite_at_the_zero_vector():
    zero = jnp.zeros((2, 5))
    value, gradient = jax.value_and_grad(lambda x: vl.retract(x, 3.0).sum())(zero)
    assert value == 0
    assert bool(jnp.all(jnp.isfinite(gradient)))
    mixed = zero.at[1].set(2.0)
    gradient = jax.grad(lambda x: (vl.retract(x, 3.0) ** 2 * jnp.arange(5.0)).sum())(mixed)
    assert bool(jnp.all(jnp.isfinite(gradient)))


def test_the_gradient_is_the_projection_on_the_tangent():
    x = jax.random.normal(jax.random.key(0), (6,))
    norm = jnp.linalg.norm(x)
    expected = 2.0 / norm * (jnp.eye(6) - jnp.outer(x, x) / norm**2)
    np.testing.assert_allclose(jax.jacobian(lambda z: vl.retract(z, 2.0))(x), expected, atol=1e-6)


def test_float16_does_not_overflow():
    x = jnp.full((1, 512), 200.0, jnp.float16)
    y = vl.retract(x, 512**0.5)
    assert y.dtype == jnp.float16
    np.testing.assert_allclose(np.asarray(y, np.float64), 1.0, rtol=1e-3)


def test_a_zero_step_does_not_move_but_passes_its_gradient():
    """A block whose output starts at zero must still learn."""
    sphere = vl.Sphere()
    x = sphere.start(jax.random.normal(jax.random.key(1), (5, 16)))
    moved, step = sphere.move(x, jnp.zeros_like(x))
    np.testing.assert_array_equal(moved, x)
    assert not bool(jnp.any(step))
    gradient = jax.grad(lambda s: (sphere.move(x, s)[0] * jnp.arange(16.0)).sum())(
        jnp.zeros_like(x)
    )
    assert bool(jnp.all(jnp.linalg.norm(gradient, axis=-1) > 0.1))


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan")])
def test_a_radius_must_be_above_zero(radius):
    with pytest.raises(vl.UserError, match="radius"):
        vl.Sphere(radius)
