"""SympFormer's linear oracle as a field: its formulas, and that no token sees a later one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import velocity_ledger as vl
from velocity_ledger.integrators import DampedStrang, ExponentialEuler, Phase, PresymplecticEuler
from velocity_ledger.model import PathKeys, PhaseAttention

TIME, WIDTH = 5, 4
X = jax.random.normal(jax.random.key(0), (2, TIME, WIDTH))
P = jax.random.normal(jax.random.key(1), (2, TIME, WIDTH))
Z = jnp.concatenate([X, P], -1)


def oracle(norm=False):
    made = PhaseAttention(WIDTH, keys=PathKeys(jax.random.key(2)), norm=norm)
    for name in ("coupling", "value"):
        weight = getattr(made, name)
        weight.set_value(20 * weight[...])  # large enough to be heard
    return made


def test_the_formulas_token_by_token():
    made = oracle()
    a, v = np.asarray(made.coupling[...], np.float64), np.asarray(made.value[...], np.float64)
    x, p, out = np.asarray(X, np.float64), np.asarray(P, np.float64), np.zeros(Z.shape)
    for b in range(2):
        for i in range(TIME):
            for j in range(i + 1):
                out[b, i, :WIDTH] += (x[b, i] @ a @ x[b, j]) * p[b, j] / TIME
                out[b, i, WIDTH:] -= (p[b, i] @ p[b, j]) * (a.T @ x[b, j]) / TIME
            out[b, i, WIDTH:] += v @ x[b, i]
    np.testing.assert_allclose(made(Z), out, rtol=1e-4, atol=1e-5)


def unmasked(z, a, v):
    """The rates that one energy of the whole sequence gives, whose sums are not masked."""
    x, p = jnp.split(z, 2, -1)
    f = (x @ a @ x.swapaxes(-1, -2)) @ p / TIME
    return jnp.concatenate([f, -(p @ p.swapaxes(-1, -2)) @ x @ a / TIME + x @ v.T], -1)


def energy(x, p, a, v, mask):
    scores = jnp.einsum("bid,de,bje->bij", x, a, x) * jnp.einsum("bid,bjd->bij", p, p)
    kept = scores * mask
    return jnp.sum(kept) / (2 * TIME) - 0.5 * jnp.einsum("bid,de,bie->", x, v, x)


def leak(field):
    """How much the rates of the first tokens change with the last one."""
    other = Z.at[:, -1].add(1.0)
    return float(jnp.abs(field(Z)[:, :-1] - field(other)[:, :-1]).max())


def test_no_token_sees_a_later_one_but_an_energys_gradient_does():
    made = oracle()
    a, v = made.coupling[...], made.value[...]
    a, v = a + a.T, v + v.T
    mask = jnp.tril(jnp.ones((TIME, TIME)))

    def gradient(mask, z):
        x, p = jnp.split(z, 2, -1)
        by_x, by_p = jax.grad(lambda x, p: energy(x, p, a, v, mask), (0, 1))(x, p)
        return jnp.concatenate([by_p, -by_x], -1)

    assert leak(made) == 0
    # The masked energy is causal as a number, and its gradient still is not.
    assert leak(lambda z: gradient(mask, z)) > 1e-2
    assert leak(lambda z: unmasked(z, a, v)) > 1e-2
    # What leaks is what the formulas are without their masks.
    whole = gradient(jnp.ones((TIME, TIME)), Z)
    np.testing.assert_allclose(whole, unmasked(Z, a, v), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "rule",
    [PresymplecticEuler(), ExponentialEuler(), DampedStrang()],
    ids=["presymplectic", "exponential", "strang"],
)
def test_integrated_with_a_momentum_it_stays_causal_and_learns(rule):
    """With a token's own momentum too: what a table of starts adds is not seen before its time."""
    fields = [oracle(norm=True), oracle(norm=True)]
    integrator = Phase(rule, start="tokens")
    tokens = jax.random.randint(jax.random.key(3), (2, TIME), 0, 7)
    declared = {
        n: p.sized(vocabulary=7, context=TIME) for n, p in integrator.parameters(WIDTH).items()
    }
    own = {
        n: 30 * p.initial(jax.random.key(4))
        if n.startswith("velocity")
        else jnp.broadcast_to(
            p.initial(jax.random.key(4)), p.shape if p.per == "model" else (2, *p.shape)
        )
        for n, p in declared.items()
    }

    def end(x, tokens, fields=fields):
        return vl.integrate(fields, x, integrator, parameters=own, inputs=tokens)[0]

    first = end(X, tokens)
    second = end(X.at[:, -1].add(1.0), tokens.at[:, -1].set((tokens[:, -1] + 1) % 7))
    np.testing.assert_array_equal(first[:, :-1], second[:, :-1])
    assert float(jnp.abs(first[:, -1] - second[:, -1]).max()) > 1e-2
    assert float(jnp.abs(first - X).max()) > 1e-3

    gradient = jax.grad(lambda x: jnp.sum(end(x, tokens) ** 2))(X)
    assert bool(jnp.all(jnp.isfinite(gradient)))


def test_from_rest_the_first_push_is_the_values_alone():
    """F = 0 where p = 0, so x moves only once p does."""
    rates = oracle()(jnp.concatenate([X, 0 * P], -1))
    np.testing.assert_array_equal(rates[..., :WIDTH], 0)
    np.testing.assert_allclose(rates[..., WIDTH:], X @ oracle().value[...].T, rtol=1e-5, atol=1e-6)
