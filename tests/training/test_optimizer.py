import dataclasses as dc
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

from velocity_ledger.integrators import parse
from velocity_ledger.model import GPT, ModelConfig
from velocity_ledger.training import (
    TrainingConfig,
    optimizer,
    schedule,
    swept_optimizer,
    warmup_steps,
)

PAPER = TrainingConfig()


def expected(config: TrainingConfig, warmup: int) -> np.ndarray:
    i = np.arange(config.steps + 1, dtype=float)
    p, q = config.peak_rate, config.final_rate
    angle = np.pi * (i - warmup) / (config.steps - warmup)
    cosine = q + (p - q) * (1 + np.cos(angle)) / 2
    return np.where(i < warmup, p * i / max(warmup, 1), cosine)


@pytest.mark.parametrize("warmup", [0, 1, 200])
def test_schedule_is_the_written_one(warmup: int) -> None:
    config = dc.replace(PAPER, steps=1000, warmup=warmup)
    rates = jax.vmap(schedule(config))(jnp.arange(1001))
    np.testing.assert_allclose(rates, expected(config, warmup), rtol=1e-5, atol=1e-9)


def test_schedule_of_the_published_run_at_its_corners() -> None:
    rate = schedule(PAPER)
    for step, value in ((0, 0.0), (100, 5e-4), (200, 1e-3), (12_000, 1e-4)):
        np.testing.assert_allclose(rate(step), value, rtol=1e-5)


@pytest.mark.parametrize(
    ("steps", "warmup", "used"), [(1, 200, 0), (10, 200, 1), (200, 200, 20), (201, 200, 200)]
)
def test_warmup_is_shortened_where_the_schedule_is_no_longer(
    steps: int, warmup: int, used: int
) -> None:
    config = dc.replace(PAPER, steps=steps, warmup=warmup)
    assert warmup_steps(config) == used
    rates = np.array([schedule(config)(i) for i in range(steps)])
    assert np.isfinite(rates).all() and rates.max() == pytest.approx(1e-3)


def test_optimizer_decays_every_parameter_biases_too() -> None:
    config = dc.replace(PAPER, warmup=0, weight_decay=0.5)
    tx = optimizer(config)
    params = {"kernel": jnp.ones((2, 2)), "bias": jnp.ones(2)}
    updates, _ = tx.update(jax.tree.map(jnp.zeros_like, params), tx.init(params), params)
    for leaf in jax.tree.leaves(updates):
        np.testing.assert_allclose(leaf, -0.5e-3, rtol=1e-5)


@pytest.mark.parametrize("swept", [False, True], ids=["unrolled", "scanned and swept"])
def test_what_an_integrator_exempts_does_not_decay(swept: bool) -> None:
    """Of hyper-connections the static weights; the dynamic maps and all blocks decay."""
    shape = ModelConfig(layers=1, width=4, heads=1, hidden=4, context=4, vocabulary=5, scan=swept)
    model = GPT(shape, parse("dynamic-hyper-connections"), rngs=0)
    config = dc.replace(PAPER, warmup=0, weight_decay=0.5)
    rule = (
        swept_optimizer(config, 1e-3, model.undecayed)
        if swept
        else optimizer(config, model.undecayed)
    )
    params = nnx.to_pure_dict(nnx.state(model, nnx.Param))
    params = jax.tree.map(lambda leaf: np.ones(leaf.shape, np.float32), params)
    zero = jax.tree.map(np.zeros_like, params)
    updates, _ = jax.jit(lambda g, p: rule.update(g, rule.init(p), p))(zero, params)
    still = set()
    for path, leaf in jax.tree_util.tree_leaves_with_path(updates):
        name = jax.tree_util.keystr(path, simple=True, separator=".").split(".")
        if np.any(leaf):
            np.testing.assert_allclose(leaf, -0.5e-3, rtol=1e-5)
        else:
            still.add(tuple(name[-3:]))
    assert still == {
        ("integrator", kind, name)
        for kind in ("attention", "mlp")
        for name in ("read", "mix", "write")
    }
    assert optimizer(config, model.undecayed) is optimizer(config, model.undecayed)
    assert optimizer(config) is not optimizer(config, model.undecayed)


def test_an_exemption_adds_nothing_to_the_state() -> None:
    """Checkpoints from before it are read."""
    params = {"learned": {"w": jnp.ones(2)}, "kernel": jnp.ones(2)}

    def leaves(undecayed: frozenset[str]) -> list[str]:
        state = optimizer(PAPER, undecayed).init(params)
        found = jax.tree_util.tree_leaves_with_path(state)
        return [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in found]

    assert leaves(frozenset({"learned.w"})) == leaves(frozenset())


@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.7, 0.95)], ids=str)
def test_optimizer_clips_then_takes_the_adam_step(betas: tuple[float, float]) -> None:
    b1, b2 = betas
    config = dc.replace(PAPER, warmup=0, weight_decay=0.0, clip=1.0, beta1=b1, beta2=b2)
    tx, params = optimizer(config), {"a": jnp.zeros(4)}
    # Two steps, as the first step of Adam does not depend on the gradient's size.
    gradients = [np.full(4, 100.0), np.full(4, 0.1)]
    state = tx.init(params)
    updates: Any = None
    for g in gradients:
        updates, state = tx.update({"a": jnp.asarray(g, jnp.float32)}, state, params)
    clipped = [g / max(1.0, float(np.linalg.norm(g))) for g in gradients]
    m = b1 * (1 - b1) * clipped[0] + (1 - b1) * clipped[1]
    v = b2 * (1 - b2) * clipped[0] ** 2 + (1 - b2) * clipped[1] ** 2
    adam = (m / (1 - b1**2)) / (np.sqrt(v / (1 - b2**2)) + 1e-8)
    rate = expected(config, 0)[1]
    np.testing.assert_allclose(updates["a"], -rate * adam, rtol=1e-4)


def test_optimizer_is_one_object_for_equal_configurations() -> None:
    assert optimizer(PAPER) is optimizer(dc.replace(PAPER))
    assert isinstance(optimizer(PAPER), optax.GradientTransformation)


def test_a_swept_rate_is_that_schedule_and_shares_the_program():
    config = TrainingConfig(
        steps=20, warmup=4, peak_rate=2e-3, final_rate=1e-4, beta1=0.8, beta2=0.9
    )
    scaled = dc.replace(config, peak_rate=6e-3, final_rate=3e-4)
    rules = [swept_optimizer(config, 6e-3), optimizer(scaled)]
    assert rules[0].update is swept_optimizer(config, 1e-3).update
    params = {"w": jnp.linspace(-1.0, 1.0, 8)}
    held: list[Any] = [(params, rule.init(params)) for rule in rules]
    for step in range(12):
        gradient = {"w": jnp.sin(params["w"] * (step + 1)) * 3.0}
        for k, (rule, (now, state)) in enumerate(zip(rules, held, strict=True)):
            change, state = rule.update(gradient, state, now)
            held[k] = (optax.apply_updates(now, change), state)
        a, b = held[0][0]["w"], held[1][0]["w"]
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
    assert not np.allclose(held[0][0]["w"], params["w"])
