"""Dropout: its rate, its mean, its mask and its independence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from velocity_ledger.model import dropout

N = 200_000


@pytest.mark.parametrize("rate", [0.01, 0.15, 0.5, 0.9])
def test_rate_and_mean(rate):
    y = np.asarray(dropout(jnp.ones(N), rate, jax.random.key(0)))
    zeros = (y == 0).mean()
    assert abs(zeros - rate) < 5 * (rate * (1 - rate) / N) ** 0.5
    assert len(np.unique(y)) == 2
    # The divisor is the realised probability: the expectation is exact.
    assert y.max() == pytest.approx(1 / (round((1 - rate) * 2**16) / 2**16), rel=1e-6)


def test_off_without_a_key_or_a_rate():
    x = jnp.arange(5.0)
    assert dropout(x, 0.5, None) is x
    assert dropout(x, 0.0, jax.random.key(0)) is x


def test_neighbouring_entries_and_keys_are_independent():
    """Two halves of a word, and two keys, agree as often as chance would have it."""
    a = np.asarray(dropout(jnp.ones(N), 0.5, jax.random.key(0))) > 0
    b = np.asarray(dropout(jnp.ones(N), 0.5, jax.random.fold_in(jax.random.key(0), 1))) > 0
    for left, right in ((a[::2], a[1::2]), (a[:-2], a[2:]), (a, b)):
        assert abs((left == right).mean() - 0.5) < 5 * 0.5 / len(left) ** 0.5


def test_a_mask_shared_over_axes():
    y = dropout(jnp.ones((4, 3, 8, 8)), 0.5, jax.random.key(1), (1, 1, 8, 8))
    assert bool(jnp.all(y == y[:1, :1]))
    assert 0 < int((y[0, 0] == 0).sum()) < 64


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 5)])
def test_any_shape(shape):
    assert dropout(jnp.ones(shape), 0.5, jax.random.key(2)).shape == shape
