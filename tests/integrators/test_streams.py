"""Several streams: read, written and mixed as the weights say; and averages over depth."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings, strategies as st

import velocity_ledger as vl
from integrators import numpy_reference, tiny_fields as tiny
from velocity_ledger.contract import CHECKS, Broken, Subject
from velocity_ledger.integrators import DenseFormer, Dynamic, HyperConnections, Manifold, Static
from velocity_ledger.integrators.streams import Connection, sinkhorn
from velocity_ledger.record import States

NAMES = ("hyper-connections", "dynamic-hyper-connections", "manifold-hyper-connections")
KINDS = (Static, Dynamic, Manifold)
kinds = pytest.mark.parametrize("kind", KINDS, ids=[k.__name__ for k in KINDS])


def own_of(connection, width=tiny.WIDTH):
    return {n: p.initial(jax.random.key(0)) for n, p in connection.parameters(width).items()}


def set_mix(connection, own, matrix):
    """The parameters with which stream i takes matrix[i, j] of stream j, within rounding."""
    matrix = jnp.asarray(matrix, jnp.float32)
    if isinstance(connection, Manifold):
        logits = 60 * matrix - connection.sharpness * jnp.eye(connection.streams)
        return own | {"mix": logits}
    return own | {"mix": matrix.T - jnp.eye(connection.streams)}


@kinds
@pytest.mark.parametrize("order", [(1, 2, 0), (1, 0, 2)], ids=str)
def test_streams_are_permuted_and_not_by_the_transpose(kind, order):
    """A doubly stochastic matrix hides a transposition, a cyclic permutation shows it."""
    connection = kind(3)
    integrator = HyperConnections(connection)
    own = set_mix(connection, own_of(connection), np.eye(3)[list(order)])
    streams = jax.random.normal(jax.random.key(1), (3, 2, tiny.WIDTH))
    nothing = vl.Field(None, None, lambda params, x, key: jnp.zeros_like(x))
    moved, _, info = jax.jit(integrator.step)(nothing, streams, (), vl.Context(0, own))
    np.testing.assert_allclose(moved, streams[np.array(order)], atol=1e-5)
    np.testing.assert_allclose(info.step, 0, atol=1e-6)


@kinds
def test_the_mixing_is_applied_and_learns(kind):
    """Streams that differ, a loss that wants them exchanged, and nothing but `mix` to learn."""
    connection = kind(2)
    integrator = HyperConnections(connection)
    start = own_of(connection)
    streams = jax.random.normal(jax.random.key(1), (2, 5, tiny.WIDTH))
    nothing = vl.Field(None, None, lambda params, x, key: jnp.zeros_like(x))

    def loss(mix):
        ctx = vl.Context(1, start | {"mix": mix})
        moved, _, _ = integrator.step(nothing, streams, (), ctx)
        return jnp.mean((moved - streams[::-1]) ** 2)

    rule = optax.adam(0.3)

    @jax.jit
    def learn(mix):
        def body(carry, _):
            mix, state = carry
            updates, state = rule.update(jax.grad(loss)(mix), state)
            return (optax.apply_updates(mix, updates), state), None

        return jax.lax.scan(body, (mix, rule.init(mix)), None, length=150)[0][0]

    assert float(loss(learn(start["mix"]))) < 1e-2 * float(loss(start["mix"]))


def does_not_mix(self, mix, streams):
    return streams


def mixes_by_the_transpose(self, mix, streams):
    return jnp.einsum("...ji,j...d->i...d", mix, streams)


@pytest.mark.parametrize("kind", (Static, Manifold), ids=["Static", "Manifold"])
@pytest.mark.parametrize("fault", [does_not_mix, mixes_by_the_transpose])
def test_faults_of_the_mixing_are_caught(kind, fault, monkeypatch):
    form = NAMES[KINDS.index(kind)]
    (agrees_with_numpy,) = [c for c in CHECKS if c.__name__ == "agrees_with_numpy"]
    # A type of its own: what is compiled for the right one is not used.
    faulty = type("Faulty", (kind,), {"mixed": fault})
    with pytest.raises(Broken):
        agrees_with_numpy(
            Subject(HyperConnections(faulty()), reference=numpy_reference.STATES[form])
        )
    monkeypatch.setattr(kind, "mixed", fault)
    with pytest.raises(AssertionError):
        test_streams_are_permuted_and_not_by_the_transpose(kind, (1, 2, 0))


def test_streams_that_take_nothing_of_one_another_do_not_learn(monkeypatch):
    monkeypatch.setattr(Connection, "mixed", does_not_mix)
    with pytest.raises(AssertionError):
        test_the_mixing_is_applied_and_learns(Static)


scaled = jax.jit(sinkhorn)


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.sampled_from([1, 4]), st.floats(0, 3))
def test_twenty_iterations_make_a_matrix_doubly_stochastic(seed, n, spread):
    logits = np.random.default_rng(seed).normal(scale=spread, size=(n, n))
    m = np.asarray(scaled(jnp.asarray(logits, jnp.float32)), np.float64)
    assert (m >= 0).all()
    np.testing.assert_allclose(m.sum(-1), 1, atol=2e-6)
    columns = np.exp(logits)
    for _ in range(20):
        columns = columns / columns.sum(0)
        columns = columns / columns.sum(1, keepdims=True)
    np.testing.assert_allclose(m, columns, atol=1e-5)
    if spread < 1:
        np.testing.assert_allclose(m.sum(0), 1, atol=1e-4)


def test_sinkhorn_of_the_published_bias_and_of_what_overflows():
    m = sinkhorn(jnp.eye(4))
    np.testing.assert_allclose(np.diag(m), 0.4754, atol=5e-5)
    np.testing.assert_allclose(m[0, 1], 0.1749, atol=5e-5)
    np.testing.assert_allclose(sinkhorn(500 * jnp.eye(3)), np.eye(3), atol=1e-6)


def states(form, own):
    integrator = vl.parse(form)
    run = jax.jit(
        lambda p, o, x: vl.integrate(tiny.fields(p), x, integrator, record=States(), parameters=o)[
            1
        ]["x"]
    )
    return run(tiny.weights(), own, tiny.start())


def test_the_manifold_starts_close_to_plain_and_the_others_are_plain():
    for name in NAMES:
        own = own_of(vl.parse(name).connection)  # pyright: ignore[reportAttributeAccessIssue]
        stacked = {n: jnp.broadcast_to(v, (tiny.N, *v.shape)) for n, v in own.items()}
        path, plain = states(name, stacked), states("plain", {})
        if name == NAMES[-1]:
            assert 1e-6 < float(jnp.abs(path - plain).max()) < 0.1
            np.testing.assert_allclose(np.diag(sinkhorn(8 * jnp.eye(4))), 0.9990, atol=5e-5)
        else:
            np.testing.assert_array_equal(path, plain)


@kinds
def test_each_sub_update_reads_the_stream_whose_turn_it_is(kind):
    connection = kind(3)
    own = own_of(connection)
    streams = jax.random.normal(jax.random.key(2), (3, 1, tiny.WIDTH))
    weights = jax.jit(lambda k: connection.weights(streams, vl.Context(k, own)))
    found = [int(jnp.argmax(jnp.ravel(weights(k).read))) for k in range(7)]
    assert found == [0, 1, 2, 0, 1, 2, 0]


def test_bounds_of_the_manifold():
    connection = Manifold(4)
    own = {
        n: 5 * jax.random.normal(jax.random.key(3), v.shape) for n, v in own_of(connection).items()
    }
    streams = jax.random.normal(jax.random.key(4), (4, 7, tiny.WIDTH))
    read, write, mix = connection.weights(streams, vl.Context(2, own))
    assert 0 <= float(read.min()) <= float(read.max()) <= 1
    assert 0 <= float(write.min()) <= float(write.max()) <= 2
    assert float(mix.min()) >= 0
    np.testing.assert_allclose(mix.sum(-1), 1, atol=1e-5)
    assert float(jnp.abs(mix - mix[:1]).max()) > 0.1  # every token has its own


def test_dense_weights_are_as_many_as_published():
    d = 12
    (average,) = DenseFormer().parameters(tiny.WIDTH).values()
    assert average.sized(sub_updates=d).shape == (d * (d + 3) // 2,)
    # Row i has floor(i / 4) + 1 entries, and every fifth block has one.
    thin = DenseFormer(4, 5).parameters(tiny.WIDTH)["average"].sized(sub_updates=d)
    assert thin.shape == ((5 // 4 + 1) + (10 // 4 + 1),)
    np.testing.assert_array_equal(thin.initial(jax.random.key(0)), [0, 1, 0, 0, 1])
    with pytest.raises(vl.UserError, match="sub_updates"):
        average.initial(jax.random.key(0))


@pytest.mark.parametrize(("dilation", "period", "n"), [(1, 1, 1), (3, 1, 5), (1, 4, 3), (2, 3, 7)])
def test_a_dense_identity_is_plain_to_the_bit(dilation, period, n):
    fields = tiny.fields(tiny.weights(n=n))
    dense = DenseFormer(dilation, period)
    run = jax.jit(lambda i: vl.integrate(fields, tiny.start(), i, record=States())[1])
    path, plain = run(dense), run(vl.plain())
    for name in ("x", "step"):
        np.testing.assert_array_equal(path[name], plain[name])


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Static(0), "at least one stream"),
        (lambda: Manifold(iterations=0), "1 or more"),
        (lambda: DenseFormer(period=0), "at least 1"),
    ],
    ids=["streams", "iterations", "period"],
)
def test_what_is_refused(make, word):
    with pytest.raises(vl.UserError, match=word):
        make()
