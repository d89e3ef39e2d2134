"""Where a velocity starts: at zero, at a learned vector, from learned tables."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import velocity_ledger as vl

CONFIG = vl.ModelConfig(layers=2, width=16, heads=2, hidden=32, context=8, vocabulary=11)
TOKENS = jax.random.randint(jax.random.key(0), (2, 8), 0, 11)
OWN = {"zero": 0, "vector": 16, "tokens": (11 + 8) * 16}
FORMS = ("ledger(start='{}')", "compose(look_ahead(start='{}'), flat(), fixed())")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("start", OWN)
@pytest.mark.parametrize("scan", [False, True])
def test_a_start_adds_the_parameters_it_declares(form, start, scan):
    config = vl.ModelConfig(**{**vars(CONFIG), "scan": scan})
    gpt = vl.GPT(config, vl.parse(form.format(start)), rngs=0)
    plain = vl.count_parameters(vl.GPT(config, vl.plain(), rngs=0))
    assert vl.count_parameters(gpt) - plain == OWN[start]
    assert gpt(TOKENS).shape == (2, 8, 11)


def test_a_start_of_zero_is_no_start():
    logits = vl.GPT(CONFIG, vl.ledger(), rngs=0)(TOKENS)
    vector = vl.GPT(CONFIG, vl.ledger(start="vector"), rngs=0)
    np.testing.assert_array_equal(vector(TOKENS), logits)
    tokens = vl.GPT(CONFIG, vl.ledger(start="tokens"), rngs=0)
    assert bool(jnp.any(tokens(TOKENS) != logits))
    for name in ("velocity_token", "velocity_position"):
        table = tokens.learned[name]
        assert 0.015 < float(table[...].std()) < 0.025
        table.set_value(jnp.zeros_like(table[...]))
    np.testing.assert_array_equal(tokens(TOKENS), logits)


@pytest.mark.parametrize("start", ["vector", "tokens"])
def test_every_number_of_a_start_that_is_used_is_learned(start):
    gpt = vl.GPT(CONFIG, vl.ledger(start=start), rngs=0)
    tokens = jnp.arange(8)[None]

    def loss(model):
        return jnp.sum(jax.nn.log_softmax(model(tokens))[..., 0])

    gradient = nnx.grad(loss)(gpt)
    for name, g in gradient["learned"].items():
        rows = np.abs(np.asarray(g[...])).reshape(-1, CONFIG.width).max(-1)
        assert (rows > 0).tolist() == [k < 8 for k in range(len(rows))], name


def test_a_token_table_lets_no_token_see_a_later_one():
    gpt = vl.GPT(CONFIG, vl.parse(FORMS[1].format("tokens")), rngs=0)
    run = jax.jit(lambda t: gpt(t, key=jax.random.key(1)))
    first, second = run(TOKENS), run(TOKENS.at[:, 5].set((TOKENS[:, 5] + 1) % 11))
    np.testing.assert_array_equal(first[:, :5], second[:, :5])
    assert bool(jnp.any(first[:, 5] != second[:, 5]))


def test_what_only_a_model_knows_is_asked_for():
    x = jnp.ones((3, 4))
    with pytest.raises(vl.UserError, match="vocabulary"):
        vl.integrate([jnp.tanh], x, vl.ledger(start="tokens"))
    own = {"velocity_token": jnp.ones((5, 4)), "velocity_position": jnp.zeros((3, 4))}
    moved, _ = vl.integrate(
        [jnp.zeros_like], x, vl.ledger(start="tokens"), parameters=own, inputs=jnp.arange(3)
    )
    np.testing.assert_allclose(moved, x + 0.9)


@pytest.mark.parametrize(
    ("form", "word"),
    [
        ("ledger(start='rest')", "starts at"),
        ("ledger(start='vector', debias=True)", "start at zero"),
    ],
)
def test_a_wrong_start_is_refused(form, word):
    with pytest.raises(vl.UserError, match=word):
        vl.parse(form)
