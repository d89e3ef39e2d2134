"""The programs do the same work: one network, one recipe, one count of operations."""

import dataclasses as dc
import itertools
import json
import os
import pathlib
import subprocess
from typing import Any

import numpy as np
import pytest

from benchmarks import driver, products, shape as sizes, text
from benchmarks.bench import Bench
from benchmarks.programs import ours
from benchmarks.shape import Shape

TINY = Shape(vocabulary=11, context=6, width=8, heads=2, hidden=12, layers=2, batch=3, dropout=0.0)


def test_the_published_shape_and_recipe_are_the_defaults():
    from velocity_ledger import ModelConfig, TrainingConfig

    assert ours.configured(Shape()) == (ModelConfig(), TrainingConfig())


def test_products_count_what_the_model_counts():
    import velocity_ledger as vl

    # A model's own count is that of all pairs.
    for shape in (TINY, dc.replace(TINY, context=64)):
        model = vl.GPT(ours.configured(shape)[0], vl.plain(), rngs=0)
        assert products.flops(shape, parts=1) == 3 * model.flops_per_token() * shape.tokens


@pytest.mark.parametrize("context", [30, 33, 64])
def test_the_floor_has_the_products_of_our_attention(context):
    import jax

    from velocity_ledger.model._causal import causal

    shape = dc.replace(TINY, context=context, layers=1)
    none = {"width": shape.width, "hidden": 0, "vocabulary": 0}
    projections = 3 * 4 * 2 * shape.tokens * shape.width**2
    size = shape.width // shape.heads
    q = np.zeros((shape.batch, shape.heads, context, size), np.float32)

    def total(*qkv):
        return causal(*qkv).sum()

    traced = jax.make_jaxpr(jax.value_and_grad(total, (0, 1, 2)))(q, q, q)
    assert operations(traced) == products.flops(dc.replace(shape, **none)) - projections


def operations(found: Any) -> int:
    """Those of all products in a traced function; a multiply-add is two."""
    jaxpr, total = getattr(found, "jaxpr", found), 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (summed, _), _ = equation.params["dimension_numbers"]
            sizes = [equation.invars[0].aval.shape[axis] for axis in summed]
            total += 2 * equation.outvars[0].aval.size * int(np.prod(sizes))
        for value in equation.params.values():
            if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
                total += operations(value)
    return total


def given(network, weights):
    """Let the article's network have our weights, all of them, by name."""
    modules = {"token": network.token, "position": network.position}
    modules |= {"norm": network.norm, "head": network.head}
    for i, layer in enumerate(network.layers):
        at = f"blocks.{i}"
        for part in ("query", "key", "value", "out"):
            modules[f"{at}.attention.{part}"] = getattr(layer.attention, part)
        modules[f"{at}.mlp.up"], modules[f"{at}.mlp.down"] = layer.up, layer.down
        modules[f"{at}.attention.norm"] = layer.attention_norm
        modules[f"{at}.mlp.norm"] = layer.mlp_norm
    for name, value in weights.items():
        module, _, kind = name.rpartition(".")
        own = getattr(modules[module], kind)
        own[...] = value.reshape(own.shape)
    assert {name.rpartition(".")[0] for name in weights} == set(modules)


@pytest.fixture
def one_window(monkeypatch):
    """One window is all there is, so how it is drawn does not matter; and steps that show."""
    only = np.random.default_rng(3).integers(0, 11, TINY.context + 1).astype(np.int32)
    monkeypatch.setattr(text, "ids", lambda shape: only)
    monkeypatch.setattr(sizes, "WARMUP", 1)
    monkeypatch.setattr(sizes, "PEAK", 0.05)
    return only


def losses_of(program, at_least=4):
    """After each run: the steps done, and the loss of the last of them."""
    found = {}
    while program.facts()["steps"] < at_least:
        program.run()
        facts = program.facts()
        found[facts["steps"]] = facts["loss"]
    return found


@pytest.mark.parametrize(("variant", "mu"), [("plain", None), ("ledger", 0.9)])
def test_the_article_s_steps_are_ours(variant, mu, one_window):
    from benchmarks.programs import article

    theirs = article.Training(dc.asdict(TINY), mu=mu)
    mine = started(variant)
    given(theirs.model, mine.model.export_weights())
    own = losses_of(mine)
    peer = losses_of(theirs, max(own))
    assert peer[1] - peer[max(own)] > 0.5
    np.testing.assert_allclose([peer[step] for step in own], [*own.values()], rtol=1e-4)
    assert mine.facts()["parameters"] == theirs.facts()["parameters"]


def test_pytorch_s_steps_are_ours(one_window, tmp_path):
    # Both draw other masks: without dropout nothing of a step is left to chance.
    assert TINY.dropout == 0.0
    python = driver.ROOT / ".venv-bench-torch" / "bin" / "python"
    if not python.exists():
        pytest.skip("no environment with PyTorch: `make bench` makes one")
    mine = started("plain")
    weights: dict[str, Any] = {"only": one_window, **mine.model.export_weights()}
    np.savez(tmp_path / "given.npz", **weights)
    own = losses_of(mine)
    script = pathlib.Path(__file__).with_name("pytorch_peer.py")
    words = [python, script, tmp_path / "given.npz", str(max(own)), json.dumps(dc.asdict(TINY))]
    paths = {**os.environ, "PYTHONPATH": str(driver.ROOT)}
    done = subprocess.run(words, env=paths, capture_output=True, text=True, check=True)
    peer = json.loads(done.stdout)
    np.testing.assert_allclose([peer[step - 1] for step in own], [*own.values()], rtol=1e-4)


def started(variant):
    return ours.Training(dc.asdict(TINY), variant=variant)


def test_a_text_can_be_learned_and_is_the_same_everywhere():
    found = text.ids(Shape())
    assert found.dtype == np.int32 and 0 <= found.min() <= found.max() < 80
    assert len(set(itertools.pairwise(found.tolist()))) <= 4 * 80
    np.testing.assert_array_equal(found, text.ids(Shape()))
    drawn = text.windows(found, TINY, np.random.default_rng(0))
    assert drawn.shape == (3, 7)


def test_a_precision_that_there_is_not_is_left_out_and_said(monkeypatch):
    from benchmarks.parts import training

    bench = Bench(quick=True, only=("*-fp32", "*-bf16"))
    monkeypatch.setattr(training, "precisions", lambda: ("fp32",))
    made, missing = training.programs(bench, bench.shape())
    assert "plain-bf16" not in {p.name for p in made}
    assert any(text.startswith("ours in bf16") for text in missing)
    assert any(text.startswith("PyTorch") for text in missing)
    monkeypatch.setattr(training, "precisions", lambda: ("fp32", "bf16"))
    made, missing = training.programs(bench, bench.shape())
    assert dict({p.name: p for p in made}["ledger-bf16"].settings)["precision"] == "bf16"
    assert not any("bf16" in text for text in missing)


def test_pytorch_has_the_pages_that_ours_have(monkeypatch):
    from benchmarks import settings
    from benchmarks.parts import training

    bench = Bench(quick=True, torch="python")
    monkeypatch.setattr(settings, "huge_pages", lambda: {"GLIBC_TUNABLES": "huge"})
    made, missing = training.programs(bench, bench.shape())
    known = {program.name: program for program in made}
    huge = {name for name, p in known.items() if "GLIBC_TUNABLES" in p.environment}
    assert set(known) - huge == {"article", "article-ledger", training.ORDINARY}
    assert known["torch-bf16"].title == "PyTorch eager, bf16, huge pages" and not missing
    assert {name for name, program in known.items() if not program.peer} == {
        *(f"{name}-{p}" for name in ("ngpt-lite", "ngpt-ledger") for p in ("fp32", "bf16")),
        *(f"{name}-{p}" for name in ("products", "torch-products") for p in ("fp32", "bf16")),
    }
    monkeypatch.setattr(settings, "huge_pages", dict)
    made, missing = training.programs(bench, bench.shape())
    assert not any("pages" in p.title for p in made) and "huge pages" in " ".join(missing)


def test_our_step_in_a_worker():
    bench = Bench(quick=True)
    program = bench.ours("plain", "ours:Training", dc.replace(TINY, layers=1))
    (row,) = bench.alternate("x", [program], rounds=1, steps=1)
    assert row["error"] is None
    assert row["facts"]["parameters"] > 0 and np.isfinite(row["facts"]["loss"])
    assert row["first_s"] > row["seconds"][0][0] > 0


def test_steps_of_several_seeds_are_those_of_each():
    shape = dc.asdict(dc.replace(TINY, layers=1))
    losses = []
    for stacked in (False, True):
        program = ours.Seeds(shape, seeds=2, stacked=stacked, chunk=3)
        program.run()
        facts = program.facts()
        assert (facts["steps"], facts["tokens"]) == (3, 2 * 3 * 6)
        assert facts["losses"][0] != facts["losses"][1]
        losses.append(facts["losses"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_the_part_of_the_seeds_tells_both_ways(monkeypatch):
    from benchmarks.parts import seeds

    row = {"error": None, "seconds": [[0.2], [0.4]], "first_s": 1.0, "chunk": 1}
    row |= {"peak_bytes": 2 * 10**9, "facts": {"tokens": 60}}
    fast = row | {"seconds": [[0.1], [0.1]], "peak_bytes": 10**9}
    made: list[Any] = []

    def alternate(bench, label, programs, **given):
        made.extend(programs)
        return [row | {"name": "alone"}, fast | {"name": "stacked"}]

    monkeypatch.setattr(Bench, "alternate", alternate)
    found = seeds.measure(Bench(quick=True))
    assert [(p.name, p.settings["stacked"]) for p in made] == [("alone", False), ("stacked", True)]
    text = seeds.told(found)
    assert "3.00 [2.00, 4.00]" in text and "600" in text and "2.00" in text
    assert len(seeds.measure(Bench())["cases"]) == len(seeds.SHAPES)
