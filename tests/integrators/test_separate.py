"""A velocity for each kind of sub-update."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import velocity_ledger as vl
from integrators import tiny_fields as tiny
from velocity_ledger.integrators import Separate, TangentSphere
from velocity_ledger.record import States

CONFIG = vl.ModelConfig(layers=3, width=16, heads=2, hidden=32, context=8, vocabulary=11)
TOKENS = jax.random.randint(jax.random.key(0), (2, 8), 0, 11)
KINDS = ("attention", "mlp") * 3


def path(form, kinds=KINDS):
    _, found = vl.integrate(
        tiny.fields(tiny.weights()), tiny.start(), vl.parse(form), record=States(), kinds=kinds
    )
    return found


def by_hand(mu, h, kinds, debias=False):
    x = np.asarray(tiny.start(), np.float64)
    velocity = {kind: np.zeros_like(x) for kind in kinds}
    visits, out = dict.fromkeys(kinds, 0), [x]
    for field, kind in zip(tiny.numpy_fields(tiny.weights()), kinds, strict=True):
        velocity[kind] = mu * velocity[kind] + (1 - mu) * field(x)
        visits[kind] += 1
        x = x + h * velocity[kind] / (1 - mu ** visits[kind] if debias else 1)
        out.append(x)
    return np.stack(out)


@pytest.mark.parametrize("debias", [False, True])
@pytest.mark.parametrize("kinds", [KINDS, ("a", "b", "b", "c", "a", "a")], ids=["two", "three"])
def test_each_kind_has_a_ledger_of_its_own(kinds, debias):
    form = f"split-ledger(mu=.8, h=.7, debias={debias})"
    np.testing.assert_allclose(path(form, kinds)["x"], by_hand(0.8, 0.7, kinds, debias), atol=1e-5)
    assert bool(jnp.any(path(form, kinds)["x"] != path(form, None)["x"]))


def test_adams_bashforth_extrapolates_each_kind_from_itself():
    fields = tiny.numpy_fields(tiny.weights())
    x, before = np.asarray(tiny.start(), np.float64), {}
    for field, kind in zip(fields, KINDS, strict=True):
        f = field(x)
        x = x + 1.5 * f - 0.5 * before.get(kind, f)
        before[kind] = f
    found = path("compose(separate(adams_bashforth()), flat(), fixed())")
    np.testing.assert_allclose(found["x"][-1], x, atol=1e-5)


@pytest.mark.parametrize("scan", [False, True])
def test_a_gpt_with_two_velocities(scan):
    """Scanned and unrolled it is one model, which is not the ledger."""
    config = vl.ModelConfig(**{**vars(CONFIG), "scan": scan})
    form = "split-ledger(debias=True)"
    logits = vl.GPT(config, vl.parse(form), rngs=0)(TOKENS, key=jax.random.key(1))
    flat = vl.GPT(CONFIG, vl.parse(form), rngs=0)(TOKENS, key=jax.random.key(1))
    np.testing.assert_allclose(logits, flat, atol=2e-5)
    other = vl.GPT(config, vl.parse("ledger(debias=True)"), rngs=0)(TOKENS, key=jax.random.key(1))
    assert float(jnp.abs(logits - other).max()) > 1e-3


def test_an_idle_velocity_is_carried_along_on_a_sphere():
    integrator = vl.Composition(Separate(), TangentSphere(), vl.Fixed())
    ctx = vl.Context(0, total=tiny.N, kinds=("attention", "mlp"))
    stream, state = integrator.init(tiny.start(), ctx)
    for k, field in enumerate(tiny.fields(tiny.weights())):
        own = vl.Context(k, total=tiny.N, kind=KINDS[k], kinds=("attention", "mlp"), visit=k // 2)
        stream, state, _ = integrator.step(field, stream, state, own)
        for v in state.values():
            assert float(jnp.abs(jnp.sum(stream * v, -1)).max()) < 1e-5


def test_the_context_counts_visits():
    seen = []

    class Watches(vl.Integrator):
        def step(self, field, stream, state, ctx):
            seen.append((ctx.kind, ctx.kinds, ctx.visit, ctx.age))
            f = field(stream)
            return stream + f, state, vl.Info(increment=f, raw_step=f, step=f)

    vl.integrate([jnp.tanh] * 4, jnp.ones((1, 2)), Watches(), kinds=("a", "b", "b", "a"))
    kinds = ("a", "b")
    assert seen == [("a", kinds, 0, 0), ("b", kinds, 0, 1), ("b", kinds, 1, 2), ("a", kinds, 1, 3)]


def test_kinds_that_do_not_fit_are_refused():
    with pytest.raises(vl.UserError, match="2 fields have as many kinds, got 1"):
        vl.integrate([jnp.tanh] * 2, jnp.ones((1, 2)), vl.plain(), kinds=["a"])
