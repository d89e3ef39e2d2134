"""What the head reads: the position, or where the velocity would still carry it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import velocity_ledger as vl
from integrators import tiny_fields as tiny
from velocity_ledger.record import States

few = settings(max_examples=8)
FORMS = (
    "coasting-ledger(mu={mu})",
    "coasting-ledger(mu={mu}, h=.4, damped=False)",
    "compose(separate(heavy_ball({mu})), flat(), fixed(.7), reading=coast())",
    "compose(look_ahead(0., {mu}, .3), flat(), fixed(), reading=coast())",
    "compose(look_ahead(.5, {mu}, .3), flat(), fixed(), reading=coast())",
    "compose(heavy_ball(table(({mu}, .1, .1, .3, .2, {mu}))), flat(), fixed(), reading=coast())",
    "compose(adams_bashforth(), flat(), fixed({mu}), reading=coast())",
)
KINDS = ("attention", "mlp") * 3


def on(form, coasting):
    """The state after the fields of the tiny problem, and what the head reads."""
    integrator = vl.parse(form)
    fields = tiny.fields(tiny.weights())
    x0 = jnp.asarray(tiny.start(), jnp.float64)
    ctx = [
        vl.Context(k, total=tiny.N, kind=KINDS[k], kinds=KINDS[:2], visit=k // 2)
        for k in range(tiny.N)
    ]
    stream, state = integrator.init(x0, ctx[0])
    for c, field in zip(ctx, fields, strict=True):
        stream, state, _ = integrator.step(field, stream, state, c)
    end = vl.Context(tiny.N, total=tiny.N, kinds=KINDS[:2])
    read = integrator.readout(stream, state, end)
    silent = vl.Field(None, None, lambda params, x, key: jnp.zeros_like(x))
    for k in range(coasting):  # each kind in turn; coefficients stay those of the last
        c = vl.Context(tiny.N - 1, total=tiny.N, kind=KINDS[k % 2], kinds=KINDS[:2], visit=9)
        stream, state, _ = integrator.step(silent, stream, state, c)
    return read, stream


@few
@given(st.floats(0.05, 0.9), st.sampled_from(FORMS))
def test_coasting_is_running_on_without_fields(mu, form):
    with jax.enable_x64(True):
        read, stream = on(form.format(mu=mu), 700)
        np.testing.assert_allclose(read, stream, atol=1e-9)


def test_coasting_goes_somewhere_and_restores_every_gain():
    pushes = jax.random.normal(jax.random.key(0), (6, 5))
    fields = [lambda x, k=k: jnp.broadcast_to(pushes[k], x.shape) for k in range(6)]
    x0 = jnp.zeros((1, 5))
    read, path = vl.integrate(fields, x0, vl.parse("coasting-ledger"), record=States())
    np.testing.assert_allclose(read, vl.integrate(fields, x0, vl.plain())[0], atol=1e-5)
    ledger, other = vl.integrate(fields, x0, vl.ledger(), record=States())
    np.testing.assert_array_equal(path["x"], other["x"])
    assert float(jnp.abs(read - ledger).min()) > 1e-3
    nothing, _ = vl.integrate([], x0 + 1, vl.parse("coasting-ledger"))
    np.testing.assert_array_equal(nothing, x0 + 1)


@pytest.mark.parametrize("mu", ["0.6", "learned(0.6)"])
def test_on_a_sphere_the_way_is_retracted(mu):
    fields = tiny.fields(tiny.weights())
    form = f"compose(heavy_ball({mu}), sphere(), fixed(), reading=coast())"
    read, path = vl.integrate(fields, tiny.start(), vl.parse(form), record=States())
    np.testing.assert_allclose(jnp.linalg.norm(read, axis=-1), tiny.WIDTH**0.5, rtol=1e-6)
    expected = vl.retract(path["x"][-1] + 1.5 * path["velocity"][-1], tiny.WIDTH**0.5)
    np.testing.assert_allclose(read, expected, atol=1e-5)


def test_a_gpt_reads_further_than_its_path():
    config = vl.ModelConfig(layers=2, width=16, heads=2, hidden=32, context=8, vocabulary=11)
    tokens = jax.random.randint(jax.random.key(0), (2, 8), 0, 11)
    for scan in (False, True):
        shape = vl.ModelConfig(**{**vars(config), "scan": scan})
        coasting = vl.GPT(shape, vl.parse("coasting-ledger"), rngs=0)(tokens)
        ledger = vl.GPT(shape, vl.ledger(), rngs=0)(tokens)
        assert float(jnp.abs(coasting - ledger).max()) > 1e-3
