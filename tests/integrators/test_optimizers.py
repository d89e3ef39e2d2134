"""Preconditioned momenta: what they read, and what is refused."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import velocity_ledger as vl
from integrators import numpy_reference, tiny_fields as tiny
from velocity_ledger.integrators import Orthogonal, Preconditioned, RightRoot
from velocity_ledger.integrators.preconditioner._matrix import rows_of

CONTEXT = vl.Context(0)


@pytest.mark.parametrize(
    ("width", "rows"), [(8, 2), (16, 4), (50, 5), (192, 12), (768, 24), (7, 1), (1, 1)]
)
def test_left_out_rows_make_the_squarest_matrix(width, rows):
    assert rows_of(None, width) == rows


@pytest.mark.parametrize("form", ["muonformer(rows=3)", "shampooformer(rows=16)"])
def test_rows_that_do_not_divide_the_width_are_refused_in_one_line(form):
    with pytest.raises(vl.UserError, match=r"^a width of 8 is not cut into \d+ rows: [^\n]*$"):
        vl.integrate([jnp.tanh], tiny.start(), vl.parse(form))


@pytest.mark.parametrize(
    ("form", "word"),
    [
        ("soapformer(root='svd')", "root is one of eigh, newton"),
        ("adamformer(start='rest')", "starts at"),
        (
            "compose(preconditioned(preconditioner=flat()), flat(), fixed())",
            "second_moment|Type-check",
        ),
        ("compose(preconditioned(norm_per='token'), flat(), fixed())", "norm_per"),
        ("compose(preconditioned(preconditioner=orthogonal(steps=-1)), flat(), fixed())", "steps"),
    ],
)
def test_a_wrong_part_is_refused(form, word):
    with pytest.raises(vl.UserError, match=word):
        vl.parse(form)


@jax.jit
def orthogonalised(m):
    return Orthogonal(3).apply(m, None, (), CONTEXT)[0]


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.floats(-8, 8))
def test_orthogonal_brings_singular_values_together_and_forgets_the_size(seed, size):
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.normal(size=(n, 3)))[0] for n in (3, 6))
    values = rng.uniform(0.05, 1, 3)
    m = (left * values) @ right.T
    u = orthogonalised(jnp.asarray(10**size * m.ravel(), jnp.float32))
    found = np.linalg.svd(np.asarray(u).reshape(3, 6), compute_uv=False)
    assert 0.6 < found.min() <= found.max() < 1.2
    # The directions are those of m.
    turned = left.T @ np.asarray(u).reshape(3, 6) @ right
    np.testing.assert_allclose(turned - np.diag(np.diag(turned)), 0, atol=2e-3)


@pytest.mark.parametrize("preconditioner", [Orthogonal(2), RightRoot(2)])
def test_a_zero_output_has_a_finite_gradient(preconditioner):
    m = jnp.zeros((3, 8))

    def read(m):
        return jnp.sum(preconditioner.apply(m, m, preconditioner.init(m), own)[0] ** 2)

    own = vl.Context(0, {})
    assert bool(jnp.all(jnp.isfinite(jax.jit(jax.grad(read))(m))))


@functools.partial(jax.jit, static_argnums=0)
def root(name, r):
    """R^(-1/2) as the part finds it: with beta2 = 1 the second moment stays what it is."""
    side = r.shape[-1]
    part = RightRoot(side, name, 1.0)
    eye = jnp.eye(side, dtype=r.dtype).reshape(1, -1)
    return part.apply(eye, eye, r[None], CONTEXT)[0].reshape(side, side)


@settings(max_examples=20)
@given(st.integers(0, 2**31), st.floats(0.1, 1.0))
def test_both_roots_invert_a_well_conditioned_moment(seed, spread):
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
    r = jnp.asarray(q * 10 ** np.linspace(0, spread, 4) @ q.T, jnp.float32)
    for name in ("eigh", "newton"):
        x = np.asarray(root(name, r), np.float64)
        np.testing.assert_allclose(x @ x @ np.asarray(r), np.eye(4), atol=2e-4, err_msg=name)


def test_the_published_root_has_not_converged_where_it_is_ill_conditioned():
    """Ten steps reach a small eigenvalue only in part: its inverse root stays smaller."""
    r = jnp.diag(jnp.array([5e-3, 1.0, 30.0, 300.0]))
    exact, published = np.diag(root("eigh", r)), np.diag(root("newton", r))
    np.testing.assert_allclose(exact, np.diag(r + 1e-6 * jnp.eye(4)) ** -0.5, rtol=1e-5)
    np.testing.assert_allclose(published, np.diag(numpy_reference.root_by_newton(
        np.asarray(r, np.float64))), rtol=1e-4)  # fmt: skip
    assert published[0] < 0.9 * exact[0]
    np.testing.assert_allclose(published[-1], exact[-1], rtol=1e-4)


@pytest.mark.parametrize("name", ["eigh", "newton"])
def test_the_gradient_of_a_root_where_eigenvalues_are_equal(name):
    """Against finite differences; autodiff through eigh alone gives NaN here."""
    with jax.enable_x64(True):
        g = np.random.default_rng(0).normal(size=(4, 4))
        r = jnp.asarray(np.diag([0.5, 0.5, 0.5, 2.0]))
        h = 1e-5 * (g + g.T)
        weight = np.random.default_rng(1).normal(size=(4, 4))
        value = lambda r: jnp.sum(weight * root(name, r))  # noqa: E731
        along = float(jnp.sum(jax.grad(value)(r) * h))
        np.testing.assert_allclose(along, float(value(r + h) - value(r - h)) / 2, rtol=1e-6)


def test_only_the_first_moment_is_a_vector_that_a_geometry_transports():
    integrator = vl.Composition(Preconditioned(), vl.parse("riemannian-ledger").geometry)  # pyright: ignore[reportAttributeAccessIssue]
    own = {"direction_norm": jnp.ones(tiny.WIDTH)}
    ctx = vl.Context(0, own)
    stream, state = integrator.init(tiny.start(), ctx)
    stream, (m, s), _ = integrator.step(tiny.fields(tiny.weights())[0], stream, state, ctx)
    assert float(jnp.abs(jnp.sum(m * stream, -1)).max()) < 1e-4
    assert bool(jnp.all(s > 0))


def test_a_decay_is_what_moves_a_stream_under_zero_fields():
    assert {n for n in vl.names() if not vl.parse(n).rests} == {"adamwformer"}
    x, path = vl.integrate(tiny.zero_fields(), tiny.start(), vl.parse("adamwformer"))
    assert path is None
    left = float(1 / (1 + np.exp(-5))) ** tiny.N
    np.testing.assert_allclose(x, left * tiny.start(), rtol=1e-5)


def test_an_average_from_tables_moves_a_stream_under_zero_fields_and_says_so():
    form = "compose(preconditioned(start='tokens', norm=False), flat(), fixed())"
    own = {"velocity_token": jnp.ones((5, 8)), "velocity_position": jnp.zeros((3, 8))}
    moved, _ = vl.integrate(
        [jnp.zeros_like], jnp.ones((3, 8)), vl.parse(form), parameters=own, inputs=jnp.arange(3)
    )
    assert float(jnp.abs(moved - 1).min()) > 0.1
    assert not vl.parse(form).rests
    assert vl.parse(form.replace("tokens", "vector")).rests


def test_published_starts():
    own = {n: p.initial(jax.random.key(0)) for n, p in
           vl.parse("adamwformer").parameters(8).items()}  # fmt: skip
    for name, raw in (("beta1", 0), ("beta2", 0), ("gamma", 0), ("decay", -5)):
        np.testing.assert_allclose(own[name], raw, atol=1e-5, err_msg=name)
    np.testing.assert_array_equal(own["direction_norm"], np.ones(8))


@pytest.mark.parametrize(
    ("form", "scalars"),
    [("adamformer", 6), ("adamwformer", 8), ("rmsformer", 4), ("muonformer", 4),
     ("orthoformer", 2), ("soapformer", 6), ("shampooformer", 4)],
)  # fmt: skip
def test_published_numbers_of_scalars_a_layer(form, scalars):
    assert 2 * sum(p.shape == () for p in vl.parse(form).parameters(8).values()) == scalars


def test_tables_start_the_first_moment_as_published():
    config = vl.ModelConfig(layers=1, width=8, heads=2, hidden=8, context=4, vocabulary=5)
    counts = [
        vl.count_parameters(vl.GPT(config, vl.parse(f"muonformer(start='{start}')"), rngs=0))
        for start in ("zero", "tokens")
    ]
    assert counts[1] - counts[0] == (5 + 4) * 8
