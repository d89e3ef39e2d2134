"""Relatives of several streams or memories move the GPT, and what they learn is counted."""

import dataclasses as dc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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
REDUCED = ("hyper-connections", "dynamic-hyper-connections", "denseformer")


@pytest.mark.parametrize("form", COUNTS)
def test_counts_scan_and_names(form):
    plain = vl.count_parameters(vl.GPT(SMALL, vl.plain(), rngs=0))
    loop = vl.GPT(SMALL, vl.parse(form), rngs=0)
    scan = vl.GPT(dc.replace(SMALL, scan=True), vl.parse(form), rngs=0)
    for model in (loop, scan):
        assert vl.count_parameters(model) - plain == COUNTS[form]
    assert list(loop.export_weights()) == list(scan.export_weights())
    key = jax.random.key(2)
    np.testing.assert_allclose(loop(TOKENS, key=key), scan(TOKENS, key=key), atol=1e-4)
    if form in REDUCED:
        whole = "compose(euler(), flat(), fixed(), whole())"
        of = whole if form == "denseformer" else "plain"
        same = vl.GPT(SMALL, vl.parse(of), rngs=0)(TOKENS, key=key)
        np.testing.assert_allclose(loop(TOKENS, key=key), same, atol=2e-6)


@pytest.mark.parametrize("layers", [1, 3])
def test_described_counts_are_those_of_the_built_model(layers):
    model = dc.replace(SMALL, layers=layers)
    config = dc.replace(PRESETS["smoke"], model=model, variants=tuple(COUNTS))
    for row in describe(config):
        built = vl.GPT(model, vl.parse(row["variant"]), rngs=0)
        assert row["parameters"] == vl.count_parameters(built), row["variant"]
        own = built.integrator_parameters()
        assert set(own) == set(row["learned"])


@pytest.mark.parametrize("form", COUNTS)
def test_a_null_path_and_what_was_learned(form):
    model = vl.GPT(SMALL, vl.parse(form), rngs=0)
    integrator = model.integrator
    n = SMALL.layers * len(integrator.splitting.kinds)
    settings = {"sub_updates": n, "increments": [1.0] * n, "initial_norm": 1.0, "width": D}
    own = model.integrator_parameters()
    given = null_path(integrator, **settings, parameters=own)
    if "manifold" not in form:  # its maps are drawn at random
        assert given == pytest.approx(null_path(integrator, **settings), rel=1e-5, nan_ok=True)
    assert np.isfinite(given["path_length"])
    if form in REDUCED:
        assert given["path_length"] == pytest.approx(n, rel=1e-5)
    # Gradients reach the integrator's parameters through the model, in float32.
    path = model(TOKENS, record=vl.PathStatistics())[1]
    assert bool(jnp.all(path["path_length"] > 0))
