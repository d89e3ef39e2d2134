"""What says that it is invertible is inverted; what is not, says so."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import velocity_ledger as vl
from integrators import tiny_fields as tiny
from integrators.numpy_reference import drawn
from velocity_ledger.integrators import Signs
from velocity_ledger.record import States

INVERTIBLE = {
    "ledger": lambda i, k, own: (0.9, 0.1, lambda v: v),
    "learned-ledger": lambda i, k, own: (
        m := jax.nn.sigmoid(own["mu"]),
        1 - m,
        lambda v: v,
    ),
    "leapfrog": lambda i, k, own: (1.0, 1.0, lambda v: v),
    "midpoint": lambda i, k, own: (-1.0, 2.0, lambda v: 0.5 * v),
    "midpoint-a": lambda i, k, own: (
        drawn(k),
        1.0,
        lambda v: v,
    ),
    "coasting-ledger": lambda i, k, own: (0.9, 0.1, lambda v: v),
}


def test_the_registry_says_which_can_be_undone():
    said = {name for name in vl.names() if vl.parse(name).invertible}
    assert said == {*INVERTIBLE, "polyak-shear", "staggered", "bdia", "split-ledger"}
    for form in (
        "ledger(mu=0)",
        "midpoint-a(centre=.5, spread=.5)",
        "bdia(gamma=0)",
        "ledger(mu=linear(-.5, .5))",
        "ledger(mu=table((.5, 0)))",
        "ledger(mu=learned(0.5, 'identity'))",
        "compose(separate(adams_bashforth()), flat(), fixed())",
    ):
        assert not vl.parse(form).invertible, form
    for form in ("ledger(mu=linear(.5, .9))", "ledger(mu=table((.5, -.5)))"):
        assert vl.parse(form).invertible, form
    assert not vl.parse("compose(heavy_ball(), sphere(), fixed())").invertible


@pytest.mark.parametrize("name", INVERTIBLE)
def test_a_step_is_undone_from_stream_and_state(name):
    with jax.enable_x64(True):
        integrator = vl.parse(name)
        declared = integrator.parameters(tiny.WIDTH)
        own = {n: p.initial(jax.random.key(0)) for n, p in declared.items()}
        fields = tiny.fields(tiny.weights())
        stream, state = integrator.init(
            jnp.asarray(tiny.start(), jnp.float64), vl.Context(0, own, total=tiny.N)
        )
        before = []
        for k, field in enumerate(fields):
            before.append((stream, state))
            stream, state, _ = integrator.step(
                field, stream, state, vl.Context(k, own, total=tiny.N)
            )
        for k, field in reversed(list(enumerate(fields))):
            mu, gain, write = INVERTIBLE[name](integrator, k, own)
            x = stream - write(state)
            v = (state - gain * field(x)) / mu
            stream, state = x, v
            np.testing.assert_allclose(stream, before[k][0], atol=1e-9)
            np.testing.assert_allclose(state, before[k][1], atol=1e-9)


def test_the_staggered_pair_is_undone():
    with jax.enable_x64(True):
        integrator = vl.parse("staggered(h=0.7)")
        fields = tiny.fields(tiny.weights())
        x0 = jnp.asarray(tiny.start(), jnp.float64)
        stream, state = integrator.init(x0, vl.Context(0))
        for k, field in enumerate(fields):
            stream, state, _ = integrator.step(field, stream, state, vl.Context(k))
        for field in reversed(fields):
            written, read = stream
            stream = (read, written - 0.7 * field(read))
        np.testing.assert_allclose(stream[0], x0, atol=1e-12)
        np.testing.assert_allclose(stream[1], x0, atol=1e-12)


def test_midpoint_a_is_undone_from_two_positions_as_its_paper_says():
    """x_(k-1) = (x_(k+1) - (1 - a) x_k - h f_k) / a."""
    with jax.enable_x64(True):
        fields = tiny.fields(tiny.weights())
        x0 = jnp.asarray(tiny.start(), jnp.float64)
        _, path = vl.integrate(fields, x0, vl.parse("midpoint-a(h=.5)"), record=States())
        x = path["x"]
        for k in range(tiny.N - 1, 0, -1):
            a = -drawn(k)
            before = (x[k + 1] - (1 - a) * x[k] - 0.5 * fields[k](x[k])) / a
            np.testing.assert_allclose(before, x[k - 1], atol=1e-7)


def test_bdia_is_undone_with_its_key():
    """The sign of every sample is drawn again from the key, back to the start."""
    with jax.enable_x64(True):
        integrator = vl.parse("bdia(gamma=.5)")
        fields = tiny.fields(tiny.weights())
        x0 = jnp.asarray(tiny.start(), jnp.float64)
        key = jax.random.key(4)

        def ctx(k):
            return vl.Context(k, key=jax.random.fold_in(key, k), total=tiny.N)

        stream, state = integrator.init(x0, ctx(0))
        for k, field in enumerate(fields):
            stream, state, _ = integrator.step(field, stream, state, ctx(k))
        for k, field in reversed(list(enumerate(fields))):
            x = stream - state
            if k:
                mu = Signs(0.5).value("mu", x, ctx(k))
                state = (state - (1 - mu) * field(x)) / mu
            stream = x
        np.testing.assert_allclose(stream, x0, atol=1e-9)
