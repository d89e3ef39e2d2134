"""Recorders: the ones that ship, and one of the user's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import velocity_ledger as vl
from velocity_ledger.record import (
    Nothing,
    PathStatistics,
    Recorder,
    States,
    StepGram,
    Together,
    angle,
    split_norm,
)


def test_all_are_recorders():
    ours = (Nothing(), States(), PathStatistics(), StepGram(), Together(StepGram()))
    assert all(isinstance(r, Recorder) for r in ours)


def test_split_norm_on_every_scale():
    for scale in (1e-30, 1e-10, 1.0, 1e30):
        norm, direction = split_norm(jnp.array([[3.0, 4.0], [0.0, 0.0]]) * scale)
        np.testing.assert_allclose(norm, [5 * scale, 0], rtol=1e-6)
        np.testing.assert_allclose(direction, [[0.6, 0.8], [0, 0]], rtol=1e-6)


def test_angles_near_zero_and_a_half_turn():
    """An arccos in float32 gives 0.0198 degrees for identical vectors."""
    a = jnp.array([1.0, 0.0, 0.0])
    for degrees in (0.0, 1e-4, 1e-2, 45.0, 90.0, 135.0, 179.99, 180.0):
        t = np.radians(degrees)
        b = jnp.array([np.cos(t), np.sin(t), 0.0], jnp.float32)
        np.testing.assert_allclose(angle(a, b), degrees, rtol=1e-3, atol=2e-5)
    assert float(angle(a, a)) == 0.0


def test_a_corner_of_ninety_degrees():
    east = lambda x: jnp.zeros_like(x).at[..., 0].set(3.0)  # noqa: E731
    north = lambda x: jnp.zeros_like(x).at[..., 1].set(4.0)  # noqa: E731
    _, path = vl.integrate([east, north], jnp.zeros((1, 2)), vl.plain(), record=PathStatistics())
    assert float(path["path_length"][0]) == 7.0
    assert float(path["chord"][0]) == 5.0
    np.testing.assert_allclose(path["straightness"], 5 / 7, rtol=1e-6)
    np.testing.assert_allclose(path["turning_angle"][1], 90.0, rtol=1e-6)
    assert bool(jnp.isnan(path["turning_angle"][0, 0]))


def test_zero_steps_are_masked_and_counted():
    fields = [jnp.ones_like, jnp.zeros_like, jnp.ones_like, jnp.ones_like]
    _, path = vl.integrate(fields, jnp.zeros((1, 3)), vl.plain(), record=PathStatistics())
    assert int(path["zero_steps"][0]) == 1
    np.testing.assert_array_equal(jnp.isnan(path["turning_angle"][:, 0]), [True, True, True, False])
    np.testing.assert_array_equal(path["turning_angle"][3], [0.0])


@pytest.mark.parametrize("name", vl.names())
def test_the_gram_matrix_is_the_path_up_to_a_rotation(name):
    both = Together(PathStatistics(), StepGram())
    x0 = jax.random.normal(jax.random.key(0), (3, 5, 4))
    fields = [lambda x, k=k: jnp.roll(jnp.tanh(x), k) for k in range(6)]
    _, path = vl.integrate(fields, x0, vl.parse(name), record=both)
    gram = path["step_gram"]
    assert gram.shape == (6, 6)
    np.testing.assert_allclose(
        jnp.diagonal(gram), (path["step_length"] ** 2).mean((1, 2)), rtol=1e-5
    )
    np.testing.assert_allclose(gram.sum(), (path["chord"] ** 2).mean(), rtol=1e-4)
    np.testing.assert_allclose(gram, gram.T, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mu", [0.0, 0.9])
def test_a_ledgers_steps_follow_from_its_increments(mu):
    """d_k = mu d_(k-1) + (1 - mu) f_k, so its inner products with the steps do too."""
    fields = [lambda x, k=k: jnp.sin(x + k) for k in range(5)]
    x0 = jax.random.normal(jax.random.key(1), (7, 8))
    _, path = vl.integrate(fields, x0, vl.ledger(mu=mu), record=StepGram())
    steps, increments = np.asarray(path["step_gram"]), np.asarray(path["increment_step_gram"])
    before = np.concatenate([np.zeros((1, 5)), steps[:-1]])
    np.testing.assert_allclose(steps, mu * before + (1 - mu) * increments, rtol=1e-4, atol=1e-5)


def test_two_recorders_may_not_share_a_name():
    with pytest.raises(ValueError, match="step_gram"):
        vl.integrate(
            [jnp.tanh], jnp.ones((1, 2)), vl.plain(), record=Together(StepGram(), StepGram())
        )


def test_a_recorder_of_the_users_own():
    class Last:
        def init(self, x0):
            return x0

        def update(self, kept, x_before, x_after, info, ctx):
            return x_after, None

        def finish(self, kept, rows, x_n):
            return kept

    x, last = vl.integrate([jnp.tanh] * 3, jnp.ones((1, 2)), vl.plain(), record=Last())
    np.testing.assert_array_equal(x, last)
