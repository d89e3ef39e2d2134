"""What depth costs: a scanned model is one program at any depth, an unrolled one no memory."""

import dataclasses as dc

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import velocity_ledger as vl
from programs import equations, peak_bytes
from velocity_ledger.model import BLOCKS
from velocity_ledger.record import PathStatistics, StepGram, Together
from velocity_ledger.training._optimizer import optimizer
from velocity_ledger.training._validation import token_losses

SMALL = vl.ModelConfig(layers=3, width=8, heads=2, hidden=12, context=4, vocabulary=5)
TOKENS = jax.ShapeDtypeStruct((2, 5), jnp.int32)
SOME = ("plain", "ledger", "manifold-hyper-connections", "denseformer")
# One that keeps a state of each kind of part; the slow tests have every name.
each_name = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in SOME else pytest.mark.slow) for n in vl.names()]
)
each_block = pytest.mark.parametrize("block", [*BLOCKS, "scaled"])


def blocks(name: str, **settings) -> vl.ModelConfig:
    odd = {"norm_scaling": True, "value_residual": True, "kv_heads": 1}
    return dc.replace(SMALL, **BLOCKS.get(name, odd), **settings)


def split(config, form):
    skeleton = nnx.eval_shape(lambda: vl.GPT(config, vl.parse(form), rngs=0))
    graph, params, rest = nnx.split(skeleton, nnx.Param, ...)
    return graph, nnx.to_pure_dict(params), rest


def step_size(config, form):
    """Equations of a training step: loss, gradient, clipping, AdamW, projection."""
    graph, params, rest = split(config, form)
    rule = optimizer(vl.TrainingConfig())

    def step(params, state, rest, tokens, key):
        def loss(trial):
            logits = nnx.merge(graph, trial, rest)(tokens[:, :-1], key=key)
            return token_losses(logits, tokens[:, 1:]).mean()

        value, gradient = jax.value_and_grad(loss)(params)
        updates, state = rule.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        return nnx.merge(graph, params, rest).project(params), state, value

    state = jax.eval_shape(rule.init, params)
    return equations(jax.make_jaxpr(step)(params, state, rest, TOKENS, jax.random.key(0)))


def look_size(config, form, record):
    """Equations of an evaluation or, with a recorder, of a measurement."""
    graph, params, rest = split(config, form)

    def look(params, rest, tokens):
        return nnx.merge(graph, params, rest)(tokens, record=record)

    return equations(jax.make_jaxpr(look)(params, rest, TOKENS.update(shape=(2, 4))))


@each_name
def test_a_scanned_name_is_one_program_at_any_depth(name):
    both = Together(PathStatistics(), StepGram())
    for size in (
        step_size,
        lambda config, form: look_size(config, form, None),
        lambda config, form: look_size(config, form, both),
    ):
        shallow, deep = (size(dc.replace(SMALL, layers=n, scan=True), name) for n in (6, 24))
        assert shallow == deep > 100


@each_block
def test_scanned_blocks_are_one_program_at_any_depth(block):
    form = "ngpt-step(radius=1)" if block == "ngpt" else "ledger"
    shallow, deep = (step_size(blocks(block, layers=n, scan=True), form) for n in (6, 24))
    assert shallow == deep


def test_an_unrolled_program_grows_by_a_layer_a_layer():
    """The count can tell."""
    sizes = [step_size(dc.replace(SMALL, layers=n), "ledger") for n in (2, 3, 4)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0] > 100


def drawing_size(layers, form):
    config = dc.replace(SMALL, layers=layers, scan=True)

    def draw(key):
        return nnx.state(vl.GPT(config, vl.parse(form), rngs=nnx.Rngs(params=key)))

    return equations(jax.make_jaxpr(draw)(jax.random.key(0)))


@pytest.mark.parametrize("form", SOME)
def test_drawing_the_initial_values_of_a_scanned_model_is_one_layers_work(form):
    assert drawing_size(6, form) == drawing_size(24, form)


def weights(config, form):
    return vl.GPT(config, vl.parse(form), rngs=3).export_weights()


def test_scanned_and_unrolled_start_alike_bit_for_bit():
    one: dict[str, np.ndarray] = {}
    for form in SOME:
        one, all_at_once = (weights(dc.replace(SMALL, scan=s), form) for s in (False, True))
        assert list(one) == list(all_at_once)
        for name, value in one.items():
            assert value.tobytes() == all_at_once[name].tobytes(), (form, name)
    first, last = one["blocks.0.mlp.up.kernel"], one["blocks.2.mlp.up.kernel"]
    assert not np.array_equal(first, last)


@each_block
def test_the_constants_of_layers_are_those_of_their_place(block):
    config = blocks(block)
    form = "ngpt-step(radius=1)" if block == "ngpt" else "ledger"
    one, stacked = (
        vl.GPT(dc.replace(config, scan=scan), vl.parse(form), rngs=0) for scan in (False, True)
    )
    rest = nnx.to_flat_state(nnx.state(stacked.blocks))
    of_layers = [dict(nnx.to_flat_state(nnx.state(layer))) for layer in one.blocks]
    assert len(rest) == len(of_layers[0])
    for path, variable in rest:
        for layer, found in enumerate(of_layers):
            np.testing.assert_array_equal(variable.get_value()[layer], found[path].get_value())


@pytest.mark.parametrize(
    "form",
    ["ledger", *(pytest.param(n, marks=pytest.mark.slow) for n in ("nesterov", "adamformer"))],
)
def test_an_unrolled_forward_pass_needs_no_memory_a_layer(form):
    """Unfenced, a velocity is computed anew from all fields before it, which are all kept."""

    def used(layers):
        config = dc.replace(SMALL, width=64, heads=1, hidden=64, context=16, layers=layers)
        graph, params, rest = split(config, form)
        tokens = jax.ShapeDtypeStruct((64, 16), jnp.int32)
        run = jax.jit(lambda p, r, t: nnx.merge(graph, p, r)(t))
        return peak_bytes(run.lower(params, rest, tokens))

    stream = 64 * 16 * 64 * 4
    assert used(8) - used(3) < 3 * stream  # of 10 sub-updates
