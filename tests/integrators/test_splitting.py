"""How a layer's fields take turns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import velocity_ledger as vl
from velocity_ledger.integrators import LieTrotter, Macaron, Parallel, Strang, Whole
from velocity_ledger.stream import SubUpdate, bind, run_layers

A = jnp.array([[0.0, 0.9], [-0.7, 0.1]])
B = jnp.array([[-0.5, 0.3], [0.2, 0.4]])
FIELDS = {
    "attention": bind(lambda x: x @ A),
    "mlp": bind(lambda x: x @ B),
    "mlp_after": bind(lambda x: x @ (2 * B)),
}
X = jnp.array([[1.0, -2.0]])


def layer(splitting):
    arranged = splitting.arrange({n: FIELDS[n] for n in splitting.fields})
    return tuple(SubUpdate(f, {}, k) for f, k in zip(arranged, splitting.kinds, strict=True))


@pytest.mark.parametrize(
    ("splitting", "matrix"),
    [
        (LieTrotter(), lambda i: (i + A) @ (i + B)),
        (Whole(), lambda i: (i + A) @ (i + B)),
        (Parallel(), lambda i: i + A + B),
        (Strang(), lambda i: (i + B / 2) @ (i + A) @ (i + B / 2)),
        (Macaron(), lambda i: (i + B / 2) @ (i + A) @ (i + B)),
    ],
    ids=["lie_trotter", "whole", "parallel", "strang", "macaron"],
)
def test_a_layer_is_the_product_it_should_be(splitting, matrix):
    x, _ = run_layers([layer(splitting)], X, vl.plain())
    np.testing.assert_allclose(x, X @ matrix(jnp.eye(2)), rtol=1e-6)


CONFIG = vl.ModelConfig(layers=2, width=16, heads=2, hidden=32, context=8, vocabulary=11)
TOKENS = jax.random.randint(jax.random.key(0), (2, 8), 0, 11)


@pytest.mark.parametrize(
    ("form", "sub_updates"),
    [("plain", 4), ("parallel", 2), ("rk4", 2), ("strang", 6), ("macaron", 6)],
)
def test_a_gpt_has_the_sub_updates_of_its_splitting(form, sub_updates):
    gpt = vl.GPT(CONFIG, vl.parse(form), rngs=0)
    _, path = gpt(TOKENS, record=vl.PathStatistics())
    assert path["step_length"].shape == (sub_updates, 2, 8)
    mlp = 2 * 16 * 32 + 16 + 32 + 2 * 16
    extra = vl.count_parameters(gpt) - vl.count_parameters(vl.GPT(CONFIG, vl.plain(), rngs=0))
    assert extra == (CONFIG.layers * mlp if form == "macaron" else 0)


@pytest.mark.parametrize("key", [None, jax.random.key(1)], ids=["eval", "dropout"])
def test_the_whole_layer_by_euler_is_the_plain_gpt(key):
    whole = vl.Composition(vl.Euler(), vl.Flat(), vl.Fixed(), Whole())
    plain = vl.GPT(CONFIG, vl.plain(), rngs=0)(TOKENS, key=key)
    logits = vl.GPT(CONFIG, whole, rngs=0)(TOKENS, key=key)
    if key is None:
        np.testing.assert_allclose(logits, plain, atol=1e-5)
    else:
        # Other masks, since a whole layer has one key, but masks it has.
        assert float(jnp.abs(logits - plain).max()) > 1e-3
        other = vl.GPT(CONFIG, whole, rngs=0)(TOKENS)
        assert float(jnp.abs(logits - other).max()) > 1e-3


@pytest.mark.parametrize("form", ["parallel", "rk4", "strang", "macaron", "bdia"])
def test_scanned_and_unrolled_agree(form):
    key = jax.random.key(2)
    flat = vl.GPT(CONFIG, vl.parse(form), rngs=0)
    scanned = vl.GPT(vl.ModelConfig(**{**vars(CONFIG), "scan": True}), vl.parse(form), rngs=0)
    np.testing.assert_allclose(flat(TOKENS, key=key), scanned(TOKENS, key=key), atol=2e-5)
