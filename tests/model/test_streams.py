"""Relatives of several streams or memories move the GPT, and what they learn is counted."""

import dataclasses as dc

import jax
import numpy as np
import pytest
from flax import nnx

import velocity_ledger as vl
from velocity_ledger.experiment import PRESETS, describe
from velocity_ledger.telemetry import null_path

SMALL = vl.ModelConfig(layers=2, width=8, heads=2, hidden=8, context=5, vocabulary=7)
TOKENS = jax.random.randint(jax.random.key(0), (2, 5), 0, 7)
D, N = SMALL.width, SMALL.sub_updates

COUNTS = {
    "adamformer": N * (3 + D),
    "adamwformer": N * (4 + D),
    "rmsformer": N * (2 + D),
    "muonformer": N * (2 + D),
    "orthoformer": N * (1 + D),
    "soapformer": N * (3 + D),
    "shampooformer": N * (2 + D),
    "hyper-connections": N * 4 * (4 + 2),
    "dynamic-hyper-connections": N * (4 * (4 + 2) + D * (4 + 2) + 2),
    "manifold-hyper-connections": N * (4 * (4 + 2) + 4 * D * 4 * (4 + 2) + 3),
    "denseformer": 2 * (2 + 3) // 2,
    "denseformer(dilation=2, period=2)": 2,
}
REDUCED = {
    "hyper-connections": "plain",
    "dynamic-hyper-connections": "plain",
    "denseformer": "compose(euler(), flat(), fixed(), whole())",
}


@pytest.mark.parametrize("form", COUNTS)
def test_what_is_learned_is_counted(form):
    skeleton = nnx.eval_shape(lambda: vl.GPT(SMALL, vl.parse(form), rngs=0))
    plain = nnx.eval_shape(lambda: vl.GPT(SMALL, vl.plain(), rngs=0))
    assert vl.count_parameters(skeleton) - vl.count_parameters(plain) == COUNTS[form]


def logits(form, scan):
    graph, state = nnx.split(vl.GPT(dc.replace(SMALL, scan=scan), vl.parse(form), rngs=0))
    key = jax.random.key(2)
    return jax.jit(lambda s, ids: nnx.merge(graph, s)(ids, key=key))(state, TOKENS)


# Constant mixtures are a part of the dynamic ones.
STATIC = pytest.param("hyper-connections", marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "form",
    [
        "soapformer",
        "manifold-hyper-connections",
        "dynamic-hyper-connections",
        "denseformer",
        STATIC,
    ],
)
def test_scanned_and_unrolled_agree_and_what_reduces_is_plain(form):
    loop = logits(form, scan=False)
    np.testing.assert_allclose(loop, logits(form, scan=True), atol=1e-5)
    if form in REDUCED:
        same = logits(REDUCED[form], scan=False)
        np.testing.assert_allclose(loop, same, atol=2e-6)


@pytest.mark.parametrize("layers", [1, 3])
def test_described_counts_are_those_of_the_built_model(layers):
    model = dc.replace(SMALL, layers=layers)
    config = dc.replace(PRESETS["smoke"], model=model, variants=tuple(COUNTS))
    for row in describe(config):
        built = vl.GPT(model, vl.parse(row["variant"]), rngs=0)
        assert row["parameters"] == vl.count_parameters(built), row["variant"]
        own = built.integrator_parameters()
        assert set(own) == set(row["learned"])


@pytest.mark.parametrize("form", ["manifold-hyper-connections", *list(COUNTS)[-1:], *REDUCED])
def test_a_null_path_and_what_was_learned(form):
    model = vl.GPT(SMALL, vl.parse(form), rngs=0)
    integrator = model.integrator
    n = SMALL.layers * len(integrator.splitting.kinds)
    settings = {"sub_updates": n, "increments": [1.0] * n, "initial_norm": 1.0, "width": D}
    given = null_path(integrator, **settings, parameters=model.integrator_parameters())
    assert np.isfinite(given["path_length"])
    if form in REDUCED:
        assert given["path_length"] == pytest.approx(n, rel=1e-5)
        assert given == pytest.approx(null_path(integrator, **settings), rel=1e-5, nan_ok=True)
