"""The contract every registered integrator keeps, whatever it does."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import velocity_ledger as vl
import velocity_ledger.stream as vl_stream
from integrators import numpy_reference, tiny_fields as tiny
from velocity_ledger.integrators import Position
from velocity_ledger.record import PathStatistics, States

FORMS = tuple(numpy_reference.STATES)
SPHERE = tuple(f for f in FORMS if isinstance(getattr(vl.parse(f), "geometry", None), vl.Sphere))


@functools.cache
def compiled(form, recorder=States):
    """One program per integrator: states, and the gradient of a scalar of the last one."""
    integrator = vl.parse(form)

    @jax.jit
    def run(params, parameters, x):
        return vl.integrate(
            tiny.fields(params), x, integrator, record=recorder(), parameters=parameters
        )

    return run


def own_parameters(form, scale=1.0):
    """The integrator's parameters, moved off their initial value so that a wrong use shows."""
    declared = vl.parse(form).parameters(tiny.WIDTH)
    rng = np.random.default_rng(7)
    shapes: Any = {
        n: p.shape if p.per == "model" else (tiny.N, *p.shape) for n, p in declared.items()
    }
    start = {n: np.asarray(p.initial(jax.random.key(0))) for n, p in declared.items()}
    # A parameter that starts at 0 would hide what it multiplies.
    size = {n: np.where(v == 0, 1.0, np.abs(v)) for n, v in start.items()}
    return {
        n: jnp.asarray(start[n] + 0.3 * scale * size[n] * rng.normal(size=s), jnp.float32)
        for n, s in shapes.items()
    }


def copies(form):
    """As `own_parameters`, with a copy a sub-update of what the model shares."""
    declared = vl.parse(form).parameters(tiny.WIDTH)
    return {
        name: jnp.broadcast_to(p, (tiny.N, *p.shape)) if declared[name].per == "model" else p
        for name, p in own_parameters(form).items()
    }


def reads_its_position(integrator):
    """Whether the head reads where the recorded path ends."""
    if isinstance(integrator, vl.Composition):
        return integrator.reading == Position()
    return type(integrator).readout is vl.Integrator.readout


def test_every_registered_name_has_its_equation_here():
    assert set(vl.names()) <= set(FORMS)


@pytest.mark.parametrize("form", FORMS)
def test_text_form_and_back(form):
    integrator = vl.parse(form)
    assert vl.parse(vl.text(integrator)) == integrator
    assert vl.text(vl.parse(vl.text(integrator))) == vl.text(integrator)
    assert str(integrator) == vl.text(integrator)
    assert hash(vl.parse(form)) == hash(integrator)


@pytest.mark.parametrize("form", FORMS)
def test_a_zero_field_leaves_a_path_of_length_zero(form):
    _, path = vl.integrate(
        tiny.zero_fields(), tiny.start(), vl.parse(form), record=PathStatistics()
    )
    assert jnp.all(path["path_length"] == 0)
    assert jnp.all(path["zero_steps"] == tiny.N)
    assert jnp.all(jnp.isnan(path["turning_angle"]))


@pytest.mark.parametrize("form", FORMS)
def test_recorded_steps_add_up_to_the_displacement(form):
    x_n, path = compiled(form)(tiny.weights(), own_parameters(form), tiny.start())
    steps, states = path["step"], path["x"]
    assert steps.shape == (tiny.N, tiny.BATCH, tiny.WIDTH)
    np.testing.assert_allclose(steps.sum(0), states[-1] - states[0], atol=2e-6)
    if reads_its_position(vl.parse(form)):
        np.testing.assert_array_equal(x_n, states[-1])
    assert float(jnp.abs(steps).max()) > 0.01


@pytest.mark.parametrize("form", FORMS)
def test_agreement_with_numpy_float64(form):
    params, own, x0 = tiny.weights(), own_parameters(form), tiny.start()
    exact = {name: np.asarray(value, np.float64) for name, value in own.items()}
    expected = numpy_reference.STATES[form](tiny.numpy_fields(params), x0, exact)
    _, path = compiled(form)(params, own, x0)
    np.testing.assert_allclose(path["x"], expected, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_state_keeps_structure_and_dtype(form):
    integrator = vl.parse(form)
    field = tiny.fields(tiny.weights())[0]
    for dtype in (jnp.float32, jnp.bfloat16):
        own = {n: p[0] for n, p in copies(form).items()}
        ctx = vl.Context(index=jnp.asarray(2), parameters=own, total=tiny.N)
        x = tiny.start(dtype=dtype)
        before = integrator.init(x, ctx)

        def step(carry, field=field, ctx=ctx):
            stream, state = carry
            return integrator.step(field, stream, state, ctx)[:2]

        after = jax.eval_shape(step, before)
        shapes = jax.tree.map(lambda a: (a.shape, a.dtype), before)
        assert jax.tree.map(lambda a: (a.shape, a.dtype), after) == shapes
        assert integrator.readout(*before, ctx).dtype == dtype


@pytest.mark.parametrize("form", FORMS)
def test_finite_under_jit_vmap_scan_and_grad(form):
    integrator = vl.parse(form)
    own = copies(form)
    stacked = jax.tree.map(lambda *a: jnp.stack(a), *tiny.weights())

    def loss(params, own, x):
        def body(carry, item):
            k, p, mine = item
            ctx = vl.Context(index=k, parameters=mine, total=tiny.N)
            field = vl.Field(p, None, tiny.apply)
            stream, state, _ = integrator.step(field, carry[0], carry[1], ctx)
            return (stream, state), jnp.sum(integrator.position(stream) ** 3)

        first = vl.Context(index=jnp.asarray(0), parameters={}, total=tiny.N)
        items = (jnp.arange(tiny.N), params, own)
        carry, sums = jax.lax.scan(body, integrator.init(x, first), items)
        return jnp.sum(sums) + jnp.sum(integrator.readout(*carry, first) ** 2)

    over_batch = jax.vmap(jax.value_and_grad(loss, argnums=(0, 1, 2)), in_axes=(None, None, 0))
    value, gradient = jax.jit(over_batch)(stacked, own, tiny.start())
    for leaf in jax.tree.leaves((value, gradient)):
        assert jnp.all(jnp.isfinite(leaf))
    assert value.shape == (tiny.BATCH,)
    # Each sub-update's field, and each declared parameter, is heard in the result.
    declared = integrator.parameters(tiny.WIDTH)
    for name, g in gradient[1].items():
        heard = jnp.abs(g).sum(axis=tuple(range(2, g.ndim))) > 0
        assert bool(heard.all()) != bool(declared[name].zero_gradient), name
        # What is silent is silent at the start, before there is a velocity.
        assert bool(heard[:, 1:].all()), name
    assert bool((jnp.abs(gradient[0]["w"]).sum(axis=(2, 3)) > 0).all())


@pytest.mark.parametrize("form", FORMS)
def test_a_scan_and_a_loop_agree(form):
    integrator = vl.parse(form)
    own, params, x = copies(form), tiny.weights(), tiny.start()
    layers = [
        (vl_stream.SubUpdate(f, {n: p[k] for n, p in own.items()}),)
        for k, f in enumerate(tiny.fields(params))
    ]
    stacked = jax.tree.map(lambda *a: jnp.stack(a), *layers)
    loop, a = vl_stream.run_layers(layers, x, integrator, record=PathStatistics())
    scan, b = vl_stream.run_layers(
        stacked, x, integrator, scan=True, depth=tiny.N, record=PathStatistics()
    )
    np.testing.assert_allclose(loop, scan, atol=3e-6)
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_allclose(a[name], b[name], rtol=1e-4, atol=1e-3, err_msg=name)


@pytest.mark.parametrize("form", SPHERE)
def test_the_stream_stays_on_the_sphere(form):
    integrator = vl.parse(form)
    assert isinstance(integrator, vl.Composition)
    assert isinstance(integrator.geometry, vl.Sphere)
    radius = integrator.geometry.radius or tiny.WIDTH**0.5
    _, path = compiled(form)(tiny.weights(), own_parameters(form), tiny.start())
    np.testing.assert_allclose(jnp.linalg.norm(path["x"], axis=-1), radius, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_hyperparameters_are_data(form):
    traces = []

    @jax.jit
    def run(integrator, x):
        traces.append(1)
        # With a key, so that what is drawn is heard.
        key = jax.random.key(3)
        return vl.integrate(tiny.fields(tiny.weights()), x, integrator, key=key)[0]

    integrator = vl.parse(form)
    other = jax.tree.map(lambda leaf: leaf * 0.9 + 0.01, integrator)
    first, second = run(integrator, tiny.start()), run(other, tiny.start())
    assert len(traces) == 1
    assert bool(jnp.any(first != second)) or not jax.tree.leaves(integrator)


@pytest.mark.parametrize("form", FORMS)
def test_swept_hyperparameters_give_what_each_gives(form):
    """vmap over a stack of integrators: a sweep is one program."""
    integrator = vl.parse(form)
    factors = jnp.array([1.0, 0.9, 0.8])
    sweep = jax.tree.map(lambda leaf: leaf * factors, integrator)
    fields = tiny.fields(tiny.weights())
    together = jax.vmap(lambda i: vl.integrate(fields, tiny.start(), i)[0])(sweep)
    for row, factor in zip(together, factors, strict=True):
        one = jax.tree.map(lambda leaf, f=factor: float(leaf * f), integrator)
        alone = vl.integrate(fields, tiny.start(), one)[0]
        np.testing.assert_allclose(row, alone, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_batch_elements_do_not_see_each_other(form):
    run = compiled(form)
    x = tiny.start()
    other = x.at[0].set(-x[0] + 1)
    a = run(tiny.weights(), own_parameters(form), x)[0]
    b = run(tiny.weights(), own_parameters(form), other)[0]
    np.testing.assert_array_equal(a[1:], b[1:])
    assert bool(jnp.any(a[0] != b[0]))
