"""What says that it is invertible is inverted; what is not, says so."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import velocity_ledger as vl
from integrators import tiny_fields as tiny

INVERTIBLE = {
    "ledger": lambda i, k, own: (0.9, 0.1, lambda v: v),
    "learned-ledger": lambda i, k, own: (
        m := jax.nn.sigmoid(own["mu"]),
        1 - m,
        lambda v: v,
    ),
    "leapfrog": lambda i, k, own: (1.0, 1.0, lambda v: v),
    "midpoint": lambda i, k, own: (-1.0, 2.0, lambda v: 0.5 * v),
}


def test_the_registry_says_which_can_be_undone():
    said = {name for name in vl.names() if vl.parse(name).invertible}
    assert said == {*INVERTIBLE, "polyak-shear", "staggered"}
    assert not vl.parse("ledger(mu=0)").invertible
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
