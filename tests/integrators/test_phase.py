"""Steps in phase space: closed forms, orders, and NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import velocity_ledger as vl
from velocity_ledger.integrators import (
    DampedAdamsBashforth2,
    DampedEuler,
    DampedStrang,
    ExponentialEuler,
    Learned,
    LogLinear,
    Phase,
    PresymplecticEuler,
)

RULES = {
    "euler": DampedEuler(),
    "exponential": ExponentialEuler(),
    "presymplectic": PresymplecticEuler(),
    "ab2": DampedAdamsBashforth2(),
    "ab2-variable": DampedAdamsBashforth2(variable=True),
    "strang": DampedStrang(),
}
ALL = pytest.mark.parametrize("name", RULES)
X = jnp.array([[0.7, -0.4]])
P = jnp.array([[0.3, 0.9]])
DAMPING = LogLinear(0.8, 0.3)


def run(integrator, field, n, x=X, p=P, own=None):
    """Start at a momentum that is not zero, and step n times."""
    stream, (_, t, memory) = integrator.init(x, vl.Context(0))
    state, info = (p.astype(x.dtype), t, memory), None
    for k in range(n):
        ctx = vl.Context(k, own or {}, total=n)
        stream, state, info = integrator.step(field, stream, state, ctx)
    return stream, state, info


def field(rate):
    return vl.Field(None, None, lambda params, z, key: rate(z))


def coupled(z):
    """F and G that each read both, nonlinear; in NumPy too."""
    x, p = z[..., :2], z[..., 2:]
    np_ = np if isinstance(z, np.ndarray) else jnp
    f = p * (1 + 0.2 * np_.sin(x))
    g = -np_.sin(x) - 0.1 * np_.cos(x) * p * p
    return np_.concatenate([f, g], -1)


SILENT = field(jnp.zeros_like)


@ALL
def test_without_a_field_only_the_damping_acts(name):
    """p_n = p_0 exp(-(eta(t_n) - eta(t_0))), and x stays."""
    h, n = 0.25, 6
    x, (p, t, _), _ = run(Phase(RULES[name], DAMPING, h, h, norm=False), SILENT, n)
    np.testing.assert_array_equal(x, X)
    assert float(t) == 1 + n * h
    end = 1 + n * h
    kept = np.exp(-(0.8 * np.log(end) + 0.3 * (end - 1)))
    if name == "euler":
        kept = np.prod([1 - h * (0.8 / (1 + k * h) + 0.3) for k in range(n)])
    if name.startswith("ab2"):
        q, before = 1.0, None
        for k in range(n):
            rate = -(0.8 / (1 + k * h) + 0.3) * q
            q += h * (rate if before is None else 1.5 * rate - 0.5 * before)
            before = rate
        kept = q
    np.testing.assert_allclose(p, P * kept, rtol=1e-5)
    assert kept < 0.5


@pytest.mark.parametrize(("name", "order"), [*zip(RULES, (1, 1, 1, 2, 2, 2), strict=True)])
def test_order_of_a_rule(name, order):
    """Both rates read both, the damping changes with time; against RK4 of 4000 steps."""
    with jax.enable_x64(True):
        z, n = np.concatenate([X, P], -1).astype(np.float64), 4000

        def exact_rate(t, z):
            rate = coupled(z)
            rate[..., 2:] -= (0.8 / t + 0.3) * z[..., 2:]
            return rate

        for k in range(n):
            h, t = 1 / n, 1 + k / n
            a = exact_rate(t, z)
            b = exact_rate(t + h / 2, z + h / 2 * a)
            c = exact_rate(t + h / 2, z + h / 2 * b)
            z = z + h / 6 * (a + 2 * b + 2 * c + exact_rate(t + h, z + h * c))
        counts, errors = np.array([8, 16, 32, 64]), []
        for steps in counts:
            integrator = Phase(RULES[name], DAMPING, 1 / steps, 1 / steps, norm=False)
            one = jax.jit(lambda x, s, i=integrator: i.step(field(coupled), x, s, vl.Context(0)))
            x, (_, _, memory) = integrator.init(jnp.asarray(X, jnp.float64), vl.Context(0))
            state = (jnp.asarray(P, jnp.float64), jnp.float32(1.0), memory)
            for _ in range(steps):
                x, state, _ = one(x, state)
            error = np.concatenate([x, state[0]], -1) - z
            errors.append(np.abs(error).max())
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert abs(slope - order) < 0.3, (slope, errors)


def in_numpy(name, h_x, h_p, n):
    """The four rules with one evaluation behind each rate, in float64, from their equations."""
    x, p, t, before = np.asarray(X, np.float64), np.asarray(P, np.float64), 1.0, None

    def rates(x, p):
        both = coupled(np.concatenate([x, p], -1))
        return both[..., :2], both[..., 2:]

    for _ in range(n):
        d = 0.8 * np.log((t + h_p) / t) + 0.3 * h_p
        sigma, alpha = np.exp(-d), 0.8 / t + 0.3
        f, g = rates(x, p)
        if name == "presymplectic":
            p = sigma * (p + h_p * g)
            x = x + h_x * rates(x, p)[0]
        elif name == "exponential":
            x, p = x + h_x * f, sigma * p + (1 - sigma) / (d / h_p) * g
        else:
            now = (f, g - alpha * p)
            (a, b), (c, e) = now, before if before is not None and name == "ab2" else now
            x, p = x + h_x * (1.5 * a - 0.5 * c), p + h_p * (1.5 * b - 0.5 * e)
            before = now
        t += h_p
    return x, p


@pytest.mark.parametrize("name", ["euler", "exponential", "presymplectic", "ab2"])
def test_against_numpy_with_two_different_steps(name):
    integrator = Phase(RULES[name], DAMPING, 0.3, 0.2, norm=False)
    x, (p, _, _), _ = run(integrator, field(coupled), 5)
    expected = in_numpy(name, 0.3, 0.2, 5)
    np.testing.assert_allclose(x, expected[0], rtol=1e-5)
    np.testing.assert_allclose(p, expected[1], rtol=1e-5)


def test_the_conservative_step_keeps_an_energy_that_euler_loses():
    """A pendulum without damping, 400 steps: dx/dt = p, dp/dt = -sin x."""
    pendulum = field(lambda z: jnp.concatenate([z[..., 2:], -jnp.sin(z[..., :2])], -1))

    def drift(rule):
        integrator = Phase(rule, LogLinear(0.0, 0.0), 0.1, 0.1, norm=False)
        one = jax.jit(lambda x, s: integrator.step(pendulum, x, s, vl.Context(0))[:2])
        x, (_, t, memory) = integrator.init(X, vl.Context(0))
        state = (P, t, memory)
        for _ in range(400):
            x, state = one(x, state)
        energy = lambda x, p: float(jnp.sum(0.5 * p * p - jnp.cos(x)))  # noqa: E731
        return abs(energy(x, state[0]) - energy(X, P))

    assert drift(DampedStrang()) < 0.02
    assert drift(PresymplecticEuler()) < 0.05
    assert drift(DampedEuler()) > 0.5


def test_adams_bashforth_keeps_its_order_when_steps_change():
    """On x'' = 1 the variable form is exact after its first step, the other is not."""
    push = field(lambda z: jnp.concatenate([z[..., 2:], jnp.ones_like(z[..., :2])], -1))
    steps = [0.1, 0.4, 0.2, 0.3]

    def end(variable):
        integrator = Phase(
            DampedAdamsBashforth2(variable), LogLinear(0.0, 0.0), Learned(1.0, "identity"),
            Learned(1.0, "identity"), norm=False,
        )  # fmt: skip
        x, (_, t, memory) = integrator.init(X, vl.Context(0))
        state = (P, t, memory)
        for k, h in enumerate(steps):
            own = {"h_x": jnp.float32(h), "h_p": jnp.float32(h)}
            x, state, _ = integrator.step(push, x, state, vl.Context(k, own))
        return np.asarray(x)

    t = sum(steps)
    exact = np.asarray(X + t * P + t * t / 2) - steps[0] ** 2 / 2  # what Euler's start leaves out
    np.testing.assert_allclose(end(True), exact, rtol=1e-5)
    assert np.abs(end(False) - exact).max() > 0.01


@ALL
def test_learned_steps_and_damping_have_finite_gradients_that_are_heard(name):
    integrator = Phase(RULES[name])
    fields = [lambda z: jnp.tanh(z @ jnp.eye(4)[::-1] + 0.1)] * 4
    declared = integrator.parameters(2)
    assert set(declared) == {"h_x", "h_p", "damping_log", "damping_linear", "momentum_norm"}
    shape = lambda p: p.shape if p.per == "model" else (4, *p.shape)  # noqa: E731
    own = {n: jnp.broadcast_to(p.initial(jax.random.key(0)), shape(p)) for n, p in declared.items()}

    def loss(own):
        x, _ = vl.integrate(fields, X, integrator, parameters=own)
        return jnp.sum(x**3)

    for parameter, gradient in jax.grad(loss)(own).items():
        assert bool(jnp.all(jnp.isfinite(gradient))), parameter
        assert float(jnp.abs(gradient).max()) > 0, parameter
    assert float(jax.nn.softplus(own["damping_log"])) == pytest.approx(3.0)
    assert float(jax.nn.softplus(own["damping_linear"])) == pytest.approx(1e-4, rel=1e-3)


@ALL
def test_the_momentum_is_normalised_and_its_state_keeps_its_form(name):
    integrator = Phase(RULES[name], start="vector")
    own = {n: p.initial(jax.random.key(0)) for n, p in integrator.parameters(2).items()}
    own["velocity_start"] = jnp.array([0.5, -0.5])
    for dtype in (jnp.float32, jnp.bfloat16):
        ctx = vl.Context(0, own)
        before = integrator.init(X.astype(dtype), ctx)
        np.testing.assert_allclose(before[1][0], [[0.5, -0.5]])
        stream, state, info = integrator.step(field(coupled), *before, ctx)
        form = lambda v: jax.tree.map(lambda a: (a.shape, a.dtype), v)  # noqa: E731
        assert form((stream, state)) == form(before)
        assert abs(float(state[0].astype(jnp.float32).mean())) < 1e-2
        assert info.increment.shape == X.shape


def test_the_code_samples_time_over_the_other_step():
    for interval, dt in (("h_p", 0.2), ("h_x", 0.3)):
        integrator = Phase(ExponentialEuler(), DAMPING, 0.3, 0.2, norm=False, interval=interval)
        _, (p, t, _), _ = run(integrator, SILENT, 1)
        assert float(t) == pytest.approx(1 + dt)
        np.testing.assert_allclose(p, P * np.exp(-0.8 * np.log1p(dt) - 0.3 * dt), rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"start": "rest"}, "starts at"),
        ({"start": "bootstrap"}, "pushed"),
        ({"interval": "h"}, "h_x or h_p"),
    ],
)
def test_what_is_refused(arguments, word):
    with pytest.raises(vl.UserError, match=word):
        Phase(**arguments)
