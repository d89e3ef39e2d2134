"""What a configuration costs, told without computing."""

import dataclasses as dc
import json
from typing import Any

import jax
import numpy as np
import optax
import pytest
from flax import nnx

from velocity_ledger import integrators
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import PRESETS, _describe, describe
from velocity_ledger.experiment._detail import learned
from velocity_ledger.experiment._memory import kept_per_token
from velocity_ledger.model import GPT, ModelConfig, count_parameters
from velocity_ledger.training import (
    LONGEST,
    Batching,
    _validation,
    dropout_root,
    microbatch,
    optimizer,
    training_steps,
)


def test_published_parameter_counts():
    found = {d["variant"]: d["parameters"] for d in describe(PRESETS["paper"])}
    assert found == {
        "plain": 2_724_864, "ledger": 2_724_864, "ngpt-lite": 2_722_560, "ngpt-ledger": 2_722_560,
    }  # fmt: skip


def test_own_parameters_are_the_step_scales():
    found = {d["variant"]: d["integrator_parameters"] for d in describe(PRESETS["paper"])}
    assert found == {"plain": 0, "ledger": 0, "ngpt-lite": 2304, "ngpt-ledger": 2304}


@pytest.mark.parametrize("scan", [False, True])
def test_counts_are_those_of_the_built_model(scan):
    config = PRESETS["smoke"]
    config = dc.replace(config, model=dc.replace(config.model, scan=scan))
    for record in describe(config):
        model = GPT(config.model, integrators.parse(record["variant"]), rngs=0)
        assert record["parameters"] == count_parameters(model)
        assert record["flops_per_token_forward"] == model.flops_per_token()
        assert record["flops_per_token_training"] == 3 * model.flops_per_token()


@pytest.mark.parametrize("layers", [1, 3])
def test_counts_of_another_depth_are_those_of_the_built_model(layers):
    config = PRESETS["smoke"]
    config = dc.replace(config, model=dc.replace(config.model, layers=layers))
    for record in describe(config):
        model = GPT(config.model, integrators.parse(record["variant"]), rngs=0)
        assert record["parameters"] == count_parameters(model)
        assert record["flops_per_token_forward"] == model.flops_per_token()


def test_depth_costs_nothing(monkeypatch):
    depths = []
    built = GPT.__init__

    def spy(self, config, *given, **named):
        depths.append(config.layers)
        built(self, config, *given, **named)

    monkeypatch.setattr(GPT, "__init__", spy)
    _describe._block_parameters.cache_clear()
    config = dc.replace(PRESETS["smoke"], model=ModelConfig(layers=100_000), variants=("plain",))
    (record,) = describe(config)
    assert set(depths) == {1, 2}
    assert record["parameters"] > 10**10


def test_it_is_strict_json():
    found = describe(PRESETS["quick"])
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert all(d["description"] and d["memory_formula"] for d in found)


def test_memory_grows_with_the_windows_that_are_worked_on_at_a_time(monkeypatch):
    config = PRESETS["quick"]
    batch = 2 * config.training.batch

    def told(**own):
        training = dc.replace(config.training, **own)
        return describe(dc.replace(config, training=training))[0]["memory_bytes"]

    assert told(batch=batch, microbatch=batch) > 1.5 * told(batch=batch, microbatch=batch // 2)
    # A CPU's pieces stay what they are; elsewhere the batch is one.
    assert told(batch=batch) == told(batch=2 * batch)
    monkeypatch.setattr("velocity_ledger.training._pieces.platform", lambda: "gpu")
    assert told(batch=2 * batch) > 1.5 * told(batch=batch)


@pytest.mark.parametrize("name", ["ledger", "ngpt-ledger", "hyper-connections", "denseformer"])
@pytest.mark.parametrize("at_a_time", [16, 4])
def test_estimated_memory_is_near_what_the_compiler_allots(name, at_a_time):
    config = PRESETS["smoke"]
    config = dc.replace(
        config,
        model=dc.replace(config.model, layers=2, width=64, hidden=256, context=64),
        training=dc.replace(config.training, batch=16, microbatch=at_a_time),
        variants=(name,),
    )
    (record,) = describe(config)
    graphdef, params, rest = shapes(config)
    real = allotted(graphdef, params, rest, optimizer(config.training), 16, at_a_time, 64)
    best = 4 * record["parameters"]
    assert 0.85 < record["memory_bytes"] / (real + best) < 1.2


def shapes(config):
    (name,) = config.variants
    model = nnx.eval_shape(lambda: GPT(config.model, integrators.parse(name), rngs=0))
    graphdef, params, rest = nnx.split(model, nnx.Param, ...)
    return graphdef, nnx.to_pure_dict(params), rest


def allotted(graphdef, params, rest, rule, batch, at_a_time, context):
    ids = jax.ShapeDtypeStruct((1000,), np.int32)
    starts = jax.ShapeDtypeStruct((LONGEST, batch), np.int32)
    step: Any = training_steps(graphdef, rule, Batching(context, batch, at_a_time))
    state = jax.eval_shape(rule.init, params)
    arguments = (params, state, rest, ids, starts, dropout_root(0), np.uint32(0), np.int32(1))
    return needed(step.lower(*arguments))


def needed(lowered):
    found = lowered.compile().memory_analysis()
    return found.temp_size_in_bytes + found.argument_size_in_bytes


def test_evaluation_and_line_searches_need_no_more_than_told():
    """At a batch of many pieces: all of it at once would be a multiple of what is told."""
    config = PRESETS["smoke"]
    config = dc.replace(
        config,
        model=dc.replace(config.model, layers=2, width=64, hidden=256, context=64),
        training=dc.replace(config.training, batch=256),
        variants=("ledger",),
    )
    (record,) = describe(config)
    size = microbatch(None, 256, 64)
    assert size == 16
    graphdef, params, rest = shapes(config)
    tokens = jax.ShapeDtypeStruct((256, 65), np.int32)
    whole, pieces = (
        needed(_validation._losses.lower(graphdef, params, rest, tokens, n)) for n in (256, size)
    )
    assert pieces < record["memory_bytes"] < whole
    rule = optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(4, store_grad=True))
    best = 4 * record["parameters"]
    real = allotted(graphdef, params, rest, rule, 256, size, 64) + best
    assert real < 1.2 * record["memory_bytes"]
    assert allotted(graphdef, params, rest, rule, 256, 256, 64) > 3 * record["memory_bytes"]


@pytest.mark.parametrize(
    ("form", "widths"),
    [
        ("ledger", 0),  # linear in all that is learned
        ("learned-ledger", 2),  # the velocity and the field, for mu's derivative
        ("layer-scale", 1),
        ("hyper-connections(streams=3)", 4),  # streams and field
        ("denseformer", 5),  # of four layers the embedding and every output
    ],
)
def test_what_a_step_keeps_for_its_derivative(form, widths):
    config = dc.replace(PRESETS["smoke"].model, layers=4)
    assert kept_per_token(integrators.parse(form), config) == widths * config.width


def test_models_of_the_same_blocks_are_counted_once():
    config = PRESETS["smoke"]
    config = dc.replace(
        config, model=dc.replace(config.model, layers=3), variants=integrators.names()
    )
    read = [integrators.parse(name) for name in integrators.names()]
    # Of each kind of blocks the last one, whose count was another's.
    last = {(i.pre_norm, i.splitting.fields): k for k, i in enumerate(read)}
    _describe._block_parameters.cache_clear()
    rows = describe(config)
    assert _describe._block_parameters.cache_info().misses == 2 * len(last) < len(rows) / 2
    for k in last.values():
        model: Any = nnx.eval_shape(lambda k=k: GPT(config.model, read[k], rngs=0))
        assert rows[k]["parameters"] == count_parameters(model), rows[k]["variant"]
        assert rows[k]["flops_per_token_forward"] == model.flops_per_token()


def test_unknown_variant():
    with pytest.raises(UserError, match="ledgr"):
        describe(dc.replace(PRESETS["smoke"], variants=("ledgr",)))


def test_where_a_parameter_starts():
    found = {
        p["name"]: p["starts"]
        for form in ("denseformer", "yuriiformer(velocity='tokens')")
        for p in learned(integrators.parse(form), PRESETS["smoke"])
    }
    assert found["average"] == "0 and 1"  # made by a function that draws nothing
    assert found["velocity_token"] is None and found["velocity_norm"] == 1
    assert found["mu"] == 0.5
