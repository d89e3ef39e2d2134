"""nGPT whole: blocks, integrator and training put together, and each known way to get it wrong."""

import dataclasses as dc
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import velocity_ledger as vl
from model.numpy_gpt import Numpy, unit
from one_step import one_step
from velocity_ledger.corpus import windows
from velocity_ledger.model import BLOCKS, rotate, unit_weights
from velocity_ledger.model._scale import Scale
from velocity_ledger.model._unit_weights import AXES
from velocity_ledger.training import Data, TrainingConfig, train
from velocity_ledger.training._leaves import placed, strong
from velocity_ledger.training._optimizer import optimizer, schedule
from velocity_ledger.training._step import dropout_root

# No two sizes are equal, so that a norm along the wrong axis cannot pass for the right one.
CONFIG = vl.ModelConfig(
    layers=2, width=16, heads=4, hidden=24, context=8, vocabulary=11, dropout=0.0, **BLOCKS["ngpt"]
)
TRAINING = TrainingConfig(
    steps=6, batch=3, peak_rate=1.5e-2, final_rate=0.0, warmup=0, weight_decay=0.0, clip=1.0,
    beta2=0.95, val_every=3, val_batches=1, checkpoint_every=3, probe_windows=1, telemetry_at=(),
)  # fmt: skip
INTEGRATOR = vl.parse("ngpt-step(radius=1)")
TOKENS = np.random.default_rng(0).integers(0, CONFIG.vocabulary, (2, 8))
IDS = np.random.default_rng(1).integers(0, CONFIG.vocabulary, 400).astype(np.int32)
BATCH = windows(IDS, batch=3, context=8, seed=0, step=0)
both_layouts = pytest.mark.parametrize("scan", [False, True], ids=["unrolled", "scanned"])


def ngpt(scan=False, **changes):
    return vl.GPT(dc.replace(CONFIG, scan=scan, **changes), INTEGRATOR, rngs=0)


@functools.partial(jax.jit, static_argnums=0)
def forward(graph, state, ids):
    return nnx.merge(graph, state)(ids)


def logits(model, ids=TOKENS):
    """Models of one structure share a program."""
    return np.asarray(forward(*nnx.split(model), ids))


@functools.cache
def trained(scan=False, steps=3, training=TRAINING, **changes):
    """A model after some steps of the library's own, weights before and after, by name."""
    model = ngpt(scan, **changes)
    before = model.export_weights()
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    params = placed(strong(nnx.to_pure_dict(params)))
    rule = optimizer(training)
    state = placed(strong(rule.init(params)))
    step = one_step(graph, rule)
    for index in range(steps):
        params, state, _ = step(params, state, rest, BATCH, dropout_root(0), np.uint32(index))
    nnx.update(model, params)
    return model, before, model.export_weights()


def matrices(weights):
    return {n: w for n, w in weights.items() if n.endswith(("kernel", "embedding"))}


def numbers(model, tokens=TOKENS):
    by_hand = Numpy(model.export_weights(), model.config)
    return np.stack([by_hand.ngpt(row) for row in tokens])


def test_the_whole_network_against_numpy():
    """At the start and after training, when no scale is 1 and no alpha the same any more."""
    for model in (ngpt(), trained()[0]):
        wanted = numbers(model)
        np.testing.assert_allclose(logits(model), wanted, atol=2e-5 * np.abs(wanted).max())


# Weights on the sphere -----------------------------------------------------------------------


@both_layouts
@pytest.mark.parametrize("after", [False, True], ids=["start", "trained"])
def test_vectors_along_the_width_are_unit_and_the_others_are_not(scan, after):
    _, *both = trained(scan)
    weights = matrices(both[after])
    assert len(weights) == 2 + 7 * CONFIG.layers
    for name, w in weights.items():
        along = {"embedding": 1, "out.kernel": 1, "down.kernel": 1}
        axis = next((a for ending, a in along.items() if name.endswith(ending)), 0)
        assert w.shape[axis] == CONFIG.width, name
        np.testing.assert_allclose(np.linalg.norm(w, axis=axis), 1.0, atol=1e-6, err_msg=name)
        assert np.abs(np.linalg.norm(w, axis=1 - axis) - 1).max() > 0.05, name


def test_every_matrix_of_the_model_is_on_the_list():
    """A new one must be said to read or write: a square kernel does not tell."""
    for form in ("macaron", "ngpt-step(radius=1)"):
        net = vl.GPT(dc.replace(CONFIG, positions="learned"), vl.parse(form), rngs=0)
        wide = {
            tuple(n.split(".")[-2:])
            for n, w in net.export_weights().items()
            if w.ndim == 2 and ".integrator." not in n and "scale" not in n
        }
        assert wide == set(AXES)


def test_the_projection_is_float32_and_has_no_epsilon():
    tiny = {"token": {"embedding": jnp.full((2, 4), 1e-30)}}
    np.testing.assert_allclose(unit_weights(tiny)["token"]["embedding"], 0.5, rtol=1e-6)
    half = {"head": {"kernel": jnp.full((512, 2), 200.0, jnp.float16)}}
    made = unit_weights(half)["head"]["kernel"]
    assert made.dtype == jnp.float16
    np.testing.assert_allclose(np.asarray(made, np.float64), 512**-0.5, rtol=1e-3)


def test_scales_and_what_the_integrator_learns_are_left_alone():
    params = nnx.to_pure_dict(nnx.state(ngpt(), nnx.Param))
    moved = jax.tree.map(lambda w: 3.0 * w, params)
    projected = ngpt().project(moved)
    assert np.all(projected["logit_scale"]["value"] == 3 * params["logit_scale"]["value"])
    own = projected["blocks"][0]["integrator"]["mlp"]["alpha"]
    assert np.all(own == 3 * params["blocks"][0]["integrator"]["mlp"]["alpha"])
    np.testing.assert_allclose(projected["head"]["kernel"], params["head"]["kernel"], atol=1e-6)


def test_the_model_projects_a_state_as_it_does_a_dict():
    state = nnx.state(ngpt(), nnx.Param)
    longer = jax.tree.map(lambda w: 2.0 * w, state)
    back = nnx.to_pure_dict(ngpt().project(longer))
    np.testing.assert_allclose(
        back["token"]["embedding"], nnx.to_pure_dict(state)["token"]["embedding"], atol=1e-6
    )


def test_an_integrators_own_projection_still_follows():
    class Bounded(vl.Integrator):
        project = staticmethod(lambda params: jax.tree.map(lambda w: 0.5 * w, params))

        def step(self, field, stream, state, ctx):
            f = field(stream)
            return stream + f, state, vl.Info(increment=f, raw_step=f, step=f)

    net = vl.GPT(CONFIG, Bounded(), rngs=0)
    params = nnx.to_pure_dict(nnx.state(net, nnx.Param))
    table = net.project(params)["token"]["embedding"]
    np.testing.assert_allclose(np.linalg.norm(table, axis=1), 0.5, rtol=1e-6)


def test_without_the_setting_a_step_leaves_the_lengths():
    _, before, after = trained(unit_weights=False)
    lengths = np.linalg.norm(after["head.kernel"], axis=0)
    assert np.abs(lengths - np.linalg.norm(before["head.kernel"], axis=0)).max() > 1e-3


# Attention -----------------------------------------------------------------------------------


def attention_scores(model, x):
    """One field's scores before the softmax, seen as the function of its weights that it is."""
    seen = []
    field = model.blocks[0].attention
    real = jax.nn.softmax

    def watched(scores, axis):
        seen.append(np.asarray(scores))
        return real(scores, axis=axis)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax.nn, "softmax", watched)
        field(x)
    return seen[0]


def states(seed=0, time=8):
    x = np.random.default_rng(seed).normal(size=(2, time, CONFIG.width))
    return jnp.asarray(unit(x), jnp.float32)


def set_scale(model, value):
    weights = model.export_weights()
    name = "blocks.0.attention.qk_scale.value"
    model.import_weights({**weights, name: np.broadcast_to(value, weights[name].shape) / 4.0})
    return model


def test_scores_are_cosines_times_the_root_of_the_head_size():
    """At the start, when s_qk is 1: sqrt(4) = 2 and no more, and a token's own score is 2 cos."""
    scores = attention_scores(ngpt(), states())
    seen = scores[np.isfinite(scores)]
    assert np.abs(seen).max() <= 2 + 1e-5
    assert np.abs(seen).max() > 1.2
    same = ngpt()
    weights = same.export_weights()
    same.import_weights(
        {**weights, "blocks.0.attention.key.kernel": weights["blocks.0.attention.query.kernel"]}
    )
    # Query and key of one token, turned alike, are one unit vector.
    own = np.diagonal(attention_scores(same, states()), axis1=2, axis2=3)
    np.testing.assert_allclose(own, 2.0, rtol=1e-5)


def test_one_scale_multiplies_queries_and_keys():
    """Doubled, it makes scores four times as large: it is on both."""
    x = states()
    once = attention_scores(ngpt(), x)
    twice = attention_scores(set_scale(ngpt(), 2.0), x)
    finite = np.isfinite(once)
    np.testing.assert_allclose(twice[finite], 4 * once[finite], rtol=1e-4, atol=1e-5)
    parameters = [n for n in ngpt().export_weights() if "qk_scale" in n]
    assert len(parameters) == CONFIG.layers
    assert ngpt().export_weights()[parameters[0]].shape == (CONFIG.heads, CONFIG.head_size)


def test_the_scale_acts_after_the_turn():
    """A scale on one dimension of a turned vector: scores no longer depend on distance alone."""
    one = np.zeros((4, 4))
    one[:, 0] = 1.0
    same = jnp.broadcast_to(states()[:, :1], (2, 8, CONFIG.width))
    scores = attention_scores(set_scale(ngpt(), one), same)[0, 0]
    assert abs(scores[3, 3] - scores[4, 4]) > 1e-3
    # With a scale alike in both of a pair, the turn is all that a position does.
    scores = attention_scores(ngpt(), same)[0, 0]
    np.testing.assert_allclose(scores[3, 3], scores[4, 4], atol=1e-5)


def test_the_turn_comes_before_the_length_is_set():
    """And cannot be told from the other order: a turn keeps lengths. The scale's place can."""
    q = jnp.asarray(np.random.default_rng(0).normal(size=(5, 6)), jnp.float32)
    np.testing.assert_allclose(vl.retract(rotate(q), 1.0), rotate(vl.retract(q, 1.0)), atol=1e-6)


def test_values_keep_their_length():
    """Doubled values double the output; doubled queries and keys change nothing."""
    x = states()
    net = ngpt()
    weights = net.export_weights()
    out = np.asarray(net.blocks[0].attention(x))
    for part, factor in (("value", 2.0), ("query", 1.0), ("key", 1.0)):
        name = f"blocks.0.attention.{part}.kernel"
        net.import_weights({**weights, name: 2 * weights[name]})
        np.testing.assert_allclose(net.blocks[0].attention(x), factor * out, atol=1e-5)


# MLP, logits, embedding ----------------------------------------------------------------------


def test_both_halves_are_scaled_by_the_root_of_the_width():
    mlp = ngpt().blocks[0].mlp
    x = states()
    u, g = x @ mlp.up.kernel[...], x @ mlp.gate.kernel[...]
    hidden = 4.0 * u * jax.nn.silu(4.0 * g)
    np.testing.assert_allclose(mlp(x), hidden @ mlp.down.kernel[...], rtol=1e-4, atol=1e-5)
    stored = {n: w for n, w in ngpt().export_weights().items() if ".mlp." in n and "scale" in n}
    assert {w.shape for w in stored.values()} == {(CONFIG.hidden,)}
    assert len(stored) == 2 * CONFIG.layers
    assert all(np.all(w == 1.0) for w in stored.values())


def test_each_entry_of_the_vocabulary_has_its_own_logit_scale():
    net = ngpt()
    weights = net.export_weights()
    assert np.all(weights["logit_scale.value"] == 0.25)
    before = logits(net)
    # Cosines of unit vectors.
    assert np.abs(before).max() <= 1 + 1e-5
    changed = weights["logit_scale.value"].copy()
    changed[3] *= 7
    net.import_weights({**weights, "logit_scale.value": changed})
    after = logits(net)
    np.testing.assert_allclose(after[..., 3], 7 * before[..., 3], rtol=1e-5)
    np.testing.assert_array_equal(np.delete(after, 3, -1), np.delete(before, 3, -1))


def test_there_is_no_norm_no_bias_no_position_table_and_no_tied_head():
    names = set(ngpt().export_weights())
    assert not any("norm" in n or "bias" in n or "position" in n for n in names)
    assert "head.kernel" in names


def test_the_stream_stays_on_the_unit_sphere_and_starts_as_the_embedding():
    net = trained()[0]
    _, recorded = nnx.jit(lambda m: m(TOKENS, record=vl.States()))(net)
    np.testing.assert_allclose(jnp.linalg.norm(recorded["x"], axis=-1), 1.0, atol=1e-6)
    table = net.export_weights()["token.embedding"]
    np.testing.assert_allclose(recorded["x"][0], table[TOKENS], atol=1e-6)


# The step ------------------------------------------------------------------------------------


def test_alpha_starts_at_a_twentieth_and_is_stored_at_the_base_scale():
    alphas = {n: w for n, w in ngpt().export_weights().items() if n.endswith("alpha")}
    assert len(alphas) == CONFIG.sub_updates
    assert all(w.shape == (16,) and np.all(w == 0.25) for w in alphas.values())
    f, x = states(1)[0], states(2)[0]
    field = vl.Field(None, None, lambda params, z, key: 5.0 * f)
    ctx = vl.Context(0, {"alpha": jnp.full(16, 0.25)})
    moved, _, _ = INTEGRATOR.step(field, x, INTEGRATOR.init(x, ctx)[1], ctx)
    wide = np.asarray(x, np.float64)
    # Pulled towards the output's direction, whatever its length.
    np.testing.assert_allclose(moved, unit(wide + 0.05 * (np.asarray(f) - wide)), atol=1e-6)
    # A negative raw parameter pulls as a positive one does.
    other = vl.Context(0, {"alpha": jnp.full(16, -0.25)})
    again, _, _ = INTEGRATOR.step(field, x, INTEGRATOR.init(x, other)[1], other)
    np.testing.assert_array_equal(again, moved)


def test_a_stored_scale_changes_only_how_fast_it_learns():
    """Same value, same function; under Adam, s moves by start / stored times the rate."""
    small, large = (Scale((3,), stored=s) for s in (0.25, 1.0))
    np.testing.assert_array_equal(small(), large())

    def after(scale):
        graph, params = nnx.split(scale)
        gradient = jax.grad(lambda p: jnp.sum(nnx.merge(graph, p)() ** 2))(params)
        rule = optax.adam(1e-3)
        updates, _ = rule.update(gradient, rule.init(params))
        return nnx.merge(graph, optax.apply_updates(params, updates))()

    assert float((small() - after(small))[0]) == pytest.approx(4e-3, rel=1e-3)
    assert float((large() - after(large))[0]) == pytest.approx(1e-3, rel=1e-3)


def test_nothing_starts_at_zero():
    """Norm has no epsilon: a block whose output is zero would have no direction."""
    for name, w in ngpt().export_weights().items():
        assert np.any(w != 0), name
        if w.ndim == 2:
            assert np.all(np.abs(w).max(axis=0) > 0) and np.all(np.abs(w).max(axis=1) > 0), name
    net = ngpt()
    for block in net.blocks:
        for field in (block.attention, block.mlp):
            assert float(jnp.linalg.norm(field(states()), axis=-1).min()) > 1e-3
    weights = net.export_weights()
    by_hand = Numpy({n: 0 * w if "down" in n else w for n, w in weights.items()}, CONFIG)
    with np.errstate(invalid="ignore"):
        assert np.isnan(by_hand.ngpt(TOKENS[0])).all()


def test_initial_values_are_directions_without_a_preferred_one():
    config = dc.replace(CONFIG, width=64, heads=4, hidden=48)
    weights = matrices(vl.GPT(config, INTEGRATOR, rngs=0).export_weights())
    for name, w in weights.items():
        assert w.std() == pytest.approx(64**-0.5, rel=1e-2), name
        assert abs(w.mean()) < 0.02, name


# Training ------------------------------------------------------------------------------------


def test_there_is_no_warm_up_and_no_decay():
    """The first update is a whole one; what gets no gradient does not shrink."""
    rate: Any = schedule(TRAINING)
    assert float(rate(0)) == pytest.approx(1.5e-2)
    assert float(rate(TRAINING.steps)) == 0.0
    _, before, after = trained(steps=1)
    for name in before:
        assert np.any(before[name] != after[name]), name
    # Adam's first step is the rate itself, entry by entry.
    moved = np.abs(after["logit_scale.value"] - before["logit_scale.value"])
    np.testing.assert_allclose(moved, 1.5e-2, rtol=1e-2)
    warm = dc.replace(TRAINING, warmup=3)
    _, before, after = trained(steps=1, training=warm)
    for name in before:
        np.testing.assert_allclose(before[name], after[name], atol=1e-6)


def test_the_gradient_is_clipped():
    """Clipping is on; Adam's direction hides a common factor, plain descent does not."""
    assert TRAINING.clip == 1.0
    rule = optimizer(TRAINING)
    huge = {"w": jnp.full(4, 1e6)}
    _, state = rule.update(huge, rule.init({"w": jnp.ones(4)}), {"w": jnp.ones(4)})
    first = next(leaf for leaf in jax.tree.leaves(state) if leaf.shape == (4,))
    np.testing.assert_allclose(first, 0.1 * 0.5, rtol=1e-5)


def test_it_learns_and_a_resumed_run_is_the_same(tmp_path):
    """A projection keeps no memory: stopped and resumed is bit for bit the whole run."""
    data = Data(IDS, IDS[:60])
    whole = train(ngpt(), data, TRAINING, seed=0, folder=tmp_path / "whole")
    part = train(ngpt(), data, TRAINING, seed=0, folder=tmp_path / "part", stop_after=3)
    rest = train(ngpt(), data, TRAINING, seed=0, folder=tmp_path / "part", resume=True)
    assert part.step == 3 and rest.step == TRAINING.steps
    np.testing.assert_array_equal(whole.history.train_loss, rest.history.train_loss)
    left, right = (ngpt().export_weights(run.last) for run in (whole, rest))
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)
    losses = whole.history.train_loss
    assert np.isfinite(losses).all() and losses[-1] != losses[0]


def test_causal_and_alike_unrolled_and_scanned():
    unrolled, scanned = ngpt(False), ngpt(True)
    np.testing.assert_allclose(logits(unrolled), logits(scanned), atol=1e-5)
    changed = TOKENS.copy()
    changed[:, 5] = (changed[:, 5] + 1) % CONFIG.vocabulary
    np.testing.assert_array_equal(logits(unrolled)[:, :5], logits(unrolled, changed)[:, :5])
    assert np.any(logits(unrolled)[:, 5] != logits(unrolled, changed)[:, 5])
