import dataclasses as dc
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

from one_step import one_step
from training.tiny import TRACES, Tiny, TinyConfig, assert_same, make_data
from velocity_ledger.corpus import windows
from velocity_ledger.errors import UserError
from velocity_ledger.integrators import parse
from velocity_ledger.model import GPT, ModelConfig, fold_in_name, rows_key
from velocity_ledger.training import (
    LONGEST,
    Batching,
    TrainingConfig,
    optimizer,
    training_steps,
)
from velocity_ledger.training._leaves import copied, placed, strong
from velocity_ledger.training._step import dropout_root

ROOT = dropout_root(0)
NO_DROPOUT = TinyConfig(dropout=0.0)
TOKENS = windows(make_data().train, batch=4, context=8, seed=0, step=0)


def pieces(model: Any, tx: optax.GradientTransformation) -> tuple[Any, Any, Any, Any]:
    graphdef, params, rest = nnx.split(model, nnx.Param, ...)
    params = placed(strong(nnx.to_pure_dict(params)))
    return one_step(graphdef, tx), params, placed(strong(tx.init(params))), rest


def loss_at(index: int, seed: int = 0) -> float:
    step, params, state, rest = pieces(Tiny(), optax.sgd(0.1))
    return float(step(params, state, rest, TOKENS, dropout_root(seed), np.uint32(index))[2])


def test_dropout_depends_on_seed_and_step_alone() -> None:
    assert loss_at(3) == loss_at(3)
    assert len({loss_at(0), loss_at(1), loss_at(2**31), loss_at(0, seed=1)}) == 4


def test_dropout_key_is_the_documented_one() -> None:
    key = jax.random.fold_in(fold_in_name(jax.random.key(5), "dropout"), 7)
    model = Tiny()
    logits = model(TOKENS[:, :-1], key=rows_key(key, 0))
    wanted = optax.softmax_cross_entropy_with_integer_labels(logits, TOKENS[:, 1:]).mean()
    assert loss_at(7, seed=5) == pytest.approx(float(wanted), rel=1e-6)


@pytest.mark.parametrize("seed", [0, 4295, 2**31, 2**32 - 1])
def test_every_legal_seed_has_its_own_root(seed: int) -> None:
    other = dropout_root((seed + 1) % 2**32)
    assert not np.array_equal(jax.random.key_data(dropout_root(seed)), jax.random.key_data(other))


def test_one_step_is_the_gradient_step_of_the_mean_loss() -> None:
    model = Tiny(config=dc.replace(Tiny().config, dropout=0.0))
    step, params, state, rest = pieces(model, optax.sgd(0.5))
    graphdef, before, _ = nnx.split(model, nnx.Param, ...)

    def objective(p: Any) -> jax.Array:
        logits = nnx.merge(graphdef, p, rest)(TOKENS[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(logits, TOKENS[:, 1:]).mean()

    gradient = nnx.to_pure_dict(jax.grad(objective)(before))
    after, _, _ = step(params, state, rest, TOKENS, ROOT, np.uint32(0))
    wanted = jax.tree.map(lambda p, g: p - 0.5 * g, nnx.to_pure_dict(before), gradient)
    for a, b in zip(jax.tree.leaves(after), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_buffers_are_donated_and_the_model_keeps_its_own() -> None:
    model = Tiny()
    step, params, state, rest = pieces(model, optax.adam(0.1))
    before = jax.device_get(nnx.to_pure_dict(nnx.state(model, nnx.Param)))
    step(params, state, rest, TOKENS, ROOT, np.uint32(0))
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(params))
    assert_same(nnx.to_pure_dict(nnx.state(model, nnx.Param)), before)


def test_a_parameter_that_starts_at_one_moves() -> None:
    step, params, state, rest = pieces(Tiny(), optax.adamw(1e-4))
    params, _, _ = step(params, state, rest, TOKENS, ROOT, np.uint32(0))
    assert params["gate"].dtype == jnp.float32
    assert bool(jnp.all(params["gate"] != 1.0))


OPTIMIZERS = {
    "sgd": optax.sgd(0.1),
    "adamw-masked": optax.adamw(1e-3, mask=lambda p: jax.tree.map(lambda x: x.ndim > 1, p)),
    "muon": optax.contrib.muon(1e-3),
    "lbfgs": optax.lbfgs(),
    "plateau": optax.chain(optax.sgd(0.1), optax.contrib.reduce_on_plateau()),
    "noise": optax.chain(optax.add_noise(0.1, 0.5, 0), optax.sgd(0.1)),
    "schedule-free": optax.contrib.schedule_free_adamw(1e-3),
    "several-steps": optax.MultiSteps(optax.adam(1e-3), 2).gradient_transformation(),
    "injected": optax.inject_hyperparams(optax.adam)(learning_rate=optax.constant_schedule(0.1)),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_any_optax_transformation_runs_and_is_traced_once(name: str) -> None:
    step, params, state, rest = pieces(Tiny(), OPTIMIZERS[name])
    names = jax.tree.structure(state)
    losses, traces = [], []
    for index in range(4):
        params, state, loss = step(params, state, rest, TOKENS, ROOT, np.uint32(index))
        losses.append(float(loss))
        traces.append(TRACES[0])
    assert jax.tree.structure(state) == names
    assert len(set(traces)) == 1, "traced again after the first step"
    assert np.isfinite(losses).all() and len(set(losses)) == 4


class Projected(Tiny):
    """Carries an integrator whose hook keeps one parameter on the unit sphere."""

    def __init__(self) -> None:
        super().__init__()
        self.integrator = Projection()


class Projection:
    def project(self, params: Any) -> Any:
        gate = params["gate"]
        return params | {"gate": gate / jnp.linalg.norm(gate)}


def test_the_integrators_projection_follows_every_step() -> None:
    step, params, state, rest = pieces(Projected(), optax.sgd(0.1))
    for index in range(2):
        params, state, _ = step(params, state, rest, TOKENS, ROOT, np.uint32(index))
        assert float(jnp.linalg.norm(params["gate"])) == pytest.approx(1.0, abs=1e-6)


SMALL = ModelConfig(
    layers=2, width=8, heads=2, hidden=8, context=8, vocabulary=7, dropout=0.2, precision="fp32"
)
IDS = make_data().train.astype(np.uint8)
STARTS = np.random.default_rng(1).integers(0, len(IDS) - 8, (5, 6)).astype(np.int32)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_one_call_of_five_steps_is_five_calls_of_one(precision: Any) -> None:
    net = GPT(dc.replace(SMALL, precision=precision), parse("ngpt-ledger"), rngs=0)
    graphdef, drawn, rest = nnx.split(net, nnx.Param, ...)
    rule = optimizer(TrainingConfig(), net.undecayed)
    steps = training_steps(graphdef, rule, Batching(8, 6, 3))

    def taken(counts: list[int]) -> Any:
        params = placed(strong(nnx.to_pure_dict(drawn)))
        state, losses, first = placed(strong(rule.init(params))), [], 0
        for count in counts:
            starts = np.zeros((LONGEST, 6), np.int32)
            starts[:count] = STARTS[first : first + count]
            given = (params, state, rest, IDS, starts, ROOT, np.uint32(first), np.int32(count))
            params, state, found = steps(*given)
            losses += np.asarray(found)[:count].tolist()
            assert np.isnan(np.asarray(found)[count:]).all()
            first += count
        return jax.device_get((params, state)), losses

    whole, losses = taken([5])
    apart, wanted = taken([1] * 5)
    assert losses == wanted and len(set(losses)) == 5
    assert_same(whole, apart)


def test_more_steps_than_a_call_takes_are_refused_before_anything_is_donated() -> None:
    graphdef, params, rest = nnx.split(Tiny(), nnx.Param, ...)
    params, rule = placed(strong(nnx.to_pure_dict(params))), optax.sgd(0.1)
    steps = training_steps(graphdef, rule, Batching(8, 4, 4))
    starts = np.zeros((LONGEST, 4), np.int32)
    for count in (LONGEST + 1, -1):
        with pytest.raises(UserError, match=f"from 0 to {LONGEST} steps, got {count}"):
            steps(params, rule.init(params), rest, IDS, starts, ROOT, np.uint32(0), np.int32(count))
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(params))


@pytest.mark.parametrize("sizes", [(8, 4, 5), (8, 4, 0), (0, 4, 4), (8, 0, 0)])
def test_pieces_that_cannot_be_are_refused(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(UserError, match="sizes are at least 1"):
        Batching(*sizes)


def test_a_piece_that_does_not_divide_the_batch_is_the_same_step() -> None:
    # A model that takes any number of windows, without a word.
    found = []
    for size in (4, 3):
        graphdef, params, rest = nnx.split(Tiny(config=NO_DROPOUT), nnx.Param, ...)
        params, rule = placed(strong(nnx.to_pure_dict(params))), optax.sgd(0.1)
        step = one_step(graphdef, rule, size)
        found.append(step(params, rule.init(params), rest, TOKENS, ROOT, np.uint32(0)))
    for a, b in zip(*map(jax.tree.leaves, found), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_copy_outlives_the_donation_of_what_was_copied() -> None:
    step, params, state, rest = pieces(Tiny(), optax.sgd(0.1))
    kept, before = copied(params), jax.device_get(params)
    for a, b in zip(jax.tree.leaves(kept), jax.tree.leaves(params), strict=True):
        assert a.unsafe_buffer_pointer() != b.unsafe_buffer_pointer()
        assert a.sharding == b.sharding and a.committed == b.committed
    step(params, state, rest, TOKENS, ROOT, np.uint32(0))
    assert_same(jax.device_get(kept), before)
