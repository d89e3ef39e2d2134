"""Random weights: BDIA's rule as it is written in one variable, and what midpoint-a draws."""

import jax
import jax.numpy as jnp
import numpy as np

import velocity_ledger as vl
from velocity_ledger.integrators import Drawn
from velocity_ledger.record import States

N, SAMPLES = 8, 24


def test_bdia_in_training_is_its_recursion_with_a_gamma_of_each_sample_and_block():
    """x_(k+1) = g x_(k-1) + (1 - g) x_k + (1 + g) f_k, g = +-1/2 from the second block on."""
    rng = np.random.default_rng(0)
    weights = [jnp.asarray(rng.normal(size=(4, 4)) / 2, jnp.float32) for _ in range(N)]
    fields = [lambda x, w=w: jnp.tanh(x @ w) + 0.1 for w in weights]
    x0 = jnp.asarray(rng.normal(size=(SAMPLES, 3, 4)), jnp.float32)
    _, path = vl.integrate(fields, x0, vl.parse("bdia"), record=States(), key=jax.random.key(0))
    x = np.asarray(path["x"], np.float64)
    drawn = []
    for k in range(N):
        f = np.tanh(x[k] @ np.asarray(weights[k], np.float64)) + 0.1
        before = x[k - 1] if k else x[0]
        # What g multiplies, and what is left without it.
        slope, rest = before - x[k] + f, x[k + 1] - x[k] - f
        g = (slope * rest).sum((1, 2)) / (slope * slope).sum((1, 2))
        np.testing.assert_allclose(rest, g[:, None, None] * slope, atol=2e-6)
        drawn.append(g)
    g = np.stack(drawn)
    np.testing.assert_allclose(g[0], 0, atol=1e-5)
    np.testing.assert_allclose(np.abs(g[1:]), 0.5, atol=1e-4)
    signs = np.sign(g[1:])
    assert abs(signs.mean()) < 0.3  # of 168 fair signs: four deviations
    assert len({tuple(row) for row in signs.T}) > SAMPLES // 2
    assert len({tuple(row) for row in signs}) == N - 1


def test_midpoint_a_draws_evenly_about_both_centres_and_once_for_all():
    rule, count = Drawn(1.0, 0.5), 400
    values = np.array(jax.vmap(lambda k: rule.value("mu", None, vl.Context(k)))(jnp.arange(count)))
    sizes = np.abs(values)
    assert 0.5 < sizes.min() < 0.53 and 1.47 < sizes.max() < 1.5
    assert abs(sizes.mean() - 1) < 0.06 and abs(values.mean()) < 0.2  # four deviations
    assert np.all(np.histogram(sizes, 5, (0.5, 1.5))[0] > 50)
    keyed = vl.Context(3, key=jax.random.key(9))
    assert float(rule.value("mu", None, keyed)) == values[3]
    assert float(Drawn(1.0, 0.5, seed=1).value("mu", None, vl.Context(3))) != values[3]
