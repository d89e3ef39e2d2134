"""What integrators are to each other beside the reductions that they declare."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import velocity_ledger as vl
from integrators import tiny_fields as tiny
from velocity_ledger.integrators import Signs
from velocity_ledger.record import States

OPTIMIZER = "preconditioned(preconditioner={}, beta1=0), flat(), fixed()"
# form, what it must equal, why not to the bit where it is not: of compositions, which have no name
REDUCTIONS = [
    ("compose(look_ahead(mu=0, beta=.5, gamma=.5), flat(), fixed())", "ledger(mu=.5)", ""),
    (f"compose({OPTIMIZER.format('second_moment(beta2=1), norm=False')})", "plain", ""),
    (f"compose({OPTIMIZER.format('right_root(beta2=1), norm=False')})", "plain",
     "the ridge of 1e-6 under the root stays"),
    ("compose(preconditioned(preconditioner=second_moment(beta2=1), beta1=.5), flat(), fixed())",
     "compose(look_ahead(mu=0, beta=.5, gamma=.5, norm='read'), flat(), fixed())",
     "the norm of a fused division rounds otherwise"),
    ("compose(separate(adams_bashforth()), flat(), fixed())", "adams-bashforth", ""),
    ("compose(two_stage(0.5, 0.5), flat(), fixed(), whole())", "heun",
     "half of each is added before or after halving"),
    ("leapfrog(h=.5)", "compose(heavy_ball(1., False), flat(), fixed(.25), whole())",
     "h twice, not its square"),
]  # fmt: skip


def states(form, key=None):
    integrator = vl.parse(form)
    run = jax.jit(
        lambda p, x: vl.integrate(tiny.fields(p), x, integrator, record=States(), key=key)[1]["x"]
    )
    return run(tiny.weights(), tiny.start())


@pytest.mark.parametrize(("form", "other", "why"), REDUCTIONS)
def test_reduces_to(form, other, why):
    first, second = states(form), states(other)
    if why:
        np.testing.assert_allclose(first, second, atol=2e-6)
    else:
        np.testing.assert_array_equal(first, second)


def test_bdia_is_a_ledger_of_random_sign_in_training():
    key = jax.random.key(5)
    path = states("bdia", key)
    assert bool(jnp.any(path != states("plain")))
    np.testing.assert_array_equal(path[1], states("plain")[1])  # the first block is plain
    # Two samples that drew alike all the way would be a draw per sub-update, not per sample.
    fields = [lambda x, k=k: jnp.full_like(x, (-1.0) ** k * (k + 1)) for k in range(8)]
    x = jnp.zeros((16, 3, 4))
    _, drawn = vl.integrate(fields, x, vl.parse("bdia"), record=States(), key=key)
    steps = drawn["step"]
    assert bool(jnp.all(steps == steps[..., :1, :1]))  # one draw a sample
    assert len({tuple(np.asarray(s)) for s in steps[:, :, 0, 0].T}) > 8
    _, again = vl.integrate(fields, x, vl.parse("bdia"), record=States(), key=key)
    np.testing.assert_array_equal(drawn["x"], again["x"])


@pytest.mark.parametrize(
    "options", ["mu=.9", "mu=.5, h=.7", "damped=False", "mu=1., damped=False", "debias=True"]
)
def test_the_control_has_the_gain_of_every_block(options):
    """Pushed once, at sub-update k, both end at the same place: for every k."""
    n, x0 = 7, jnp.zeros((1, 2))
    for pushed in range(n):
        fields = [lambda x, on=float(k == pushed): jnp.full_like(x, on) for k in range(n)]
        end, _ = vl.integrate(fields, x0, vl.parse(f"ledger({options})"))
        same, _ = vl.integrate(fields, x0, vl.parse(f"damped-euler({options})"))
        np.testing.assert_allclose(end, same, rtol=1e-5)


def test_a_damped_euler_delivers_what_a_ledger_delivers():
    """With fields that do not read the stream both end at one point, by different paths."""
    n = 12
    pushes = jax.random.normal(jax.random.key(0), (n, 5))
    fields = [lambda x, k=k: jnp.broadcast_to(pushes[k], x.shape) for k in range(n)]
    x0 = jnp.zeros((1, 5))
    end, path = vl.integrate(fields, x0, vl.parse("ledger"), record=vl.PathStatistics())
    same, control = vl.integrate(fields, x0, vl.parse("damped-euler"), record=vl.PathStatistics())
    np.testing.assert_allclose(end, same, rtol=2e-5)
    assert float(path["path_length"][0]) < 0.6 * float(control["path_length"][0])


@pytest.mark.parametrize("geometry", ["tangent_sphere", "target_sphere"])
def test_what_points_along_the_stream_does_not_move_it(geometry):
    integrator = vl.parse(f"compose(euler(), {geometry}(), fixed(h=.3))")
    x0 = tiny.start()
    _, path = vl.integrate([lambda x: 2 * x] * 3, x0, integrator, record=vl.PathStatistics())
    assert float(path["path_length"].max()) < 1e-5


def test_a_transported_velocity_stays_tangent():
    integrator = vl.parse("riemannian-ledger")
    ctx = vl.Context(0, {"alpha": jnp.ones(tiny.WIDTH)}, total=tiny.N)
    stream, state = integrator.init(tiny.start(), ctx)
    for field in tiny.fields(tiny.weights()):
        stream, state, _ = integrator.step(field, stream, state, ctx)
        dot = jnp.sum(stream * state, -1)
        bound = jnp.linalg.norm(stream, axis=-1) * jnp.linalg.norm(state, axis=-1)
        assert float(jnp.max(jnp.abs(dot) / bound)) < 1e-6
    # Without transport it would not.
    assert isinstance(integrator, vl.Composition)
    flat = integrator.replace(geometry=vl.Sphere())
    stream, state = flat.init(tiny.start(), ctx)
    for field in tiny.fields(tiny.weights()):
        stream, state, _ = flat.step(field, stream, state, ctx)
    assert float(jnp.max(jnp.abs(jnp.sum(stream * state, -1)))) > 1e-2


def test_one_draw_for_a_whole_batch_is_caught(monkeypatch):
    original = Signs.value

    def drawn_once(self, name, x, ctx):
        return jnp.zeros(()) if ctx.key is None else original(self, name, x[:1], ctx)

    monkeypatch.setattr(Signs, "value", drawn_once)
    with pytest.raises(AssertionError):
        test_bdia_is_a_ledger_of_random_sign_in_training()


ORDERS = [
    ("midpoint(h={h})", 1),  # its first step, 2 h f, is off by one order
    ("midpoint(h={h}, start='bootstrap')", 2),
    ("compose(separate(adams_bashforth()), flat(), fixed({h}))", 2),
    ("compose(two_stage(0.5, 0.5, {h}), flat(), fixed({h}))", 2),
]


@pytest.mark.parametrize(("form", "order"), ORDERS)
def test_order_of_accuracy(form, order):
    """The slope of log error against log step, on x' = A x, at a fixed end time."""
    with jax.enable_x64(True):
        a = jnp.array([[-0.3, 1.0, 0.0], [-1.0, -0.2, 0.1], [0.0, 0.3, -0.5]])
        x0 = jnp.array([[1.0, -0.5, 0.7]])
        exact = x0 @ jax.scipy.linalg.expm(a)
        counts = np.array([8, 16, 32, 64])
        errors = []
        for n in counts:
            integrator = vl.parse(form.format(h=1 / n))
            end, _ = vl.integrate([lambda x: x @ a] * int(n), x0, integrator)
            errors.append(float(jnp.abs(end - exact).max()))
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert abs(slope - order) < 0.2, (slope, errors)


@pytest.mark.parametrize("start", ["zero", "bootstrap"])
def test_order_of_a_leapfrog_for_the_second_order_system(start):
    """x'' = f(x), from rest or at the speed f(x_0): either first step is off by one order."""
    with jax.enable_x64(True):
        a = jnp.array([[-1.0, 0.3], [0.3, -0.5]])
        x0 = jnp.array([[1.0, -0.5]])
        v0 = jnp.zeros_like(x0) if start == "zero" else x0 @ a
        system = jnp.block([[jnp.zeros((2, 2)), a], [jnp.eye(2), jnp.zeros((2, 2))]])
        exact = (jnp.concatenate([x0, v0], -1) @ jax.scipy.linalg.expm(system))[:, :2]
        counts, errors = np.array([16, 32, 64, 128]), []
        for n in counts:
            integrator = vl.parse(f"leapfrog(h={1 / n}, start={start!r})")
            end, _ = vl.integrate([lambda x: x @ a] * int(n), x0, integrator)
            errors.append(float(jnp.abs(end - exact).max()))
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert abs(slope - 1) < 0.15, (slope, errors)
