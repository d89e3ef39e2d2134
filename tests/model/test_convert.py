"""A model under another integrator: the same weights, and what cannot be is refused."""

import dataclasses as dc
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import velocity_ledger as vl
from velocity_ledger.model import with_numbers

SMALL = vl.ModelConfig(layers=2, width=8, heads=2, hidden=16, context=6, dropout=0.2, vocabulary=11)
TOKENS = jax.random.randint(jax.random.key(9), (2, 6), 0, SMALL.vocabulary)


def trained(form: str, scan: bool = False) -> vl.GPT:
    """A model whose weights are not those that any seed gives."""
    model = vl.GPT(dc.replace(SMALL, scan=scan), vl.parse(form), rngs=3)
    weights = model.export_weights()
    draw = np.random.default_rng(0).normal
    model.import_weights({n: w + 0.1 * draw(size=w.shape) for n, w in weights.items()})
    return model


@functools.cache
def program(graph):
    """Logits and gradients, compiled, dropout on."""

    def run(params, rest, tokens):
        def total(trial):
            logits = nnx.merge(graph, trial, rest)(tokens, key=jax.random.key(1))
            return jnp.sum(jnp.sin(logits)), logits

        return jax.value_and_grad(total, has_aux=True)(params)

    return jax.jit(run)


def outputs(model: vl.GPT) -> list[np.ndarray]:
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    return [np.asarray(leaf) for leaf in jax.tree.leaves(program(graph)(params, rest, TOKENS))]


def silent(_message: str) -> None:
    pass


# Scanned, in training, it is five steps of test_gpt.
@pytest.mark.parametrize("scan", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_plain_is_a_ledger_at_mu_zero_and_back_bit_for_bit(scan):
    plain = trained("plain", scan)
    ledger = vl.convert(plain, vl.ledger(mu=0.0))
    assert str(ledger.integrator) == "ledger(mu=0.0)"
    before, after = outputs(plain), outputs(ledger)
    assert len(before) == len(after) > 10
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    back = vl.convert(ledger, vl.plain())
    assert all(np.array_equal(a, b) for a, b in zip(before, outputs(back), strict=True))
    other = outputs(vl.convert(plain, vl.ledger(mu=0.1)))
    assert not all(np.array_equal(a, b) for a, b in zip(before, other, strict=True))


def test_the_model_keeps_its_own():
    plain = trained("plain")
    before = plain.export_weights()
    ledger = vl.convert(plain, vl.ledger())
    ledger.import_weights({n: 0 * w for n, w in before.items()})
    assert str(plain.integrator) == "plain"
    assert all(np.array_equal(before[n], w) for n, w in plain.export_weights().items())


def test_what_both_learn_is_carried_over():
    lite = trained("ngpt-lite")
    turned = vl.convert(lite, vl.ngpt_ledger(mu=0.0))
    alpha = lite.integrator_parameters()["alpha"]
    np.testing.assert_array_equal(turned.integrator_parameters()["alpha"], alpha)
    assert np.all(alpha != 1)


@pytest.mark.parametrize(
    ("form", "name", "start"),
    [("learned-ledger(mu=0.5)", "mu", 0.0), ("layer-scale", "alpha", 0.1)],
)
def test_what_the_target_learns_begins_as_declared_and_is_said(form, name, start):
    said: list[str] = []
    turned = vl.convert(trained("plain"), vl.parse(form), notify=said.append)
    assert said == [f"{vl.parse(form)} starts at its declared values of {name}"]
    np.testing.assert_allclose(turned.integrator_parameters()[name], start, atol=1e-7)


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("plain", "ngpt-lite", "the fields of plain read a normalised stream, those of ngpt-lite"),
        ("ngpt-ledger", "ledger", "the fields of ledger read a normalised stream"),
        ("plain", "macaron", "only one of them has mlp_after"),
        ("macaron", "plain", "only one of them has mlp_after"),
        ("layer-scale", "plain", "has no place for what it learned: alpha"),
        ("ledger(start='vector')", "plain", "has no place for what it learned: velocity_start"),
        ("learned-ledger", "compose(look_ahead(mu=learned()), flat(), fixed())", "both learn mu"),
    ],
)
def test_what_cannot_be_is_one_line(source, target, words):
    with pytest.raises(vl.UserError, match=words) as told:
        vl.convert(trained(source), vl.parse(target), notify=silent)
    assert "\n" not in str(told.value)


def test_numbers_of_a_split_model():
    graph, params, rest = nnx.split(vl.GPT(SMALL, vl.ledger(), rngs=0), nnx.Param, ...)
    other = with_numbers(rest, vl.ledger(mu=0.25, h=2.0))
    assert jax.tree.structure(other) == jax.tree.structure(rest)
    assert nnx.merge(graph, params, other).integrator == vl.ledger(mu=0.25, h=2.0)
    with pytest.raises(ValueError, match="1 numbers, the model 2"):
        with_numbers(rest, vl.plain())
