"""Measuring a model: one program, numbers per token only, bounded memory."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from programs import peak_bytes
from telemetry.reference import path_metrics
from velocity_ledger.errors import UserError
from velocity_ledger.integrators import ledger, ngpt_ledger, plain
from velocity_ledger.model import GPT, ModelConfig
from velocity_ledger.record import PathStatistics, States, StepGram, Together
from velocity_ledger.stream import integrate
from velocity_ledger.telemetry import measure
from velocity_ledger.telemetry._dataset import GRAMS
from velocity_ledger.telemetry._measure import _recorded

CONFIG = ModelConfig(layers=2, width=16, heads=2, hidden=32, context=8, vocabulary=11)
N, WINDOWS, TIME = 4, 3, 8
# The compiled function, whose own attributes are not typed.
RECORDED: Any = _recorded
TOKENS = np.random.default_rng(0).integers(0, 11, (WINDOWS, TIME)).astype(np.int32)


def model(integrator=None, config: ModelConfig = CONFIG, seed: int = 0) -> GPT:
    return GPT(config, integrator or ledger(), rngs=seed)


@pytest.mark.parametrize("integrator", [plain(), ledger(), ngpt_ledger()], ids=str)
def test_a_models_path_agrees_with_its_states(integrator):
    gpt = model(integrator)
    measured = measure(gpt, TOKENS)
    _, kept = gpt(jnp.asarray(TOKENS), record=States())
    states = np.asarray(kept["x"]).reshape(N + 1, WINDOWS * TIME, CONFIG.width)
    steps = np.diff(states.astype(np.float64), axis=0)
    gram = np.einsum("jtd,ktd->jk", steps, steps) / (WINDOWS * TIME)
    np.testing.assert_allclose(measured["step_gram"], gram, 1e-4, 1e-4 * np.abs(gram).max())
    for name, value in path_metrics(states).items():
        # The states are rounded to float32, and a compiled program rounds in another order.
        tolerance = 1e-2 if "ang" in name else 2e-5
        np.testing.assert_allclose(measured[name], value, tolerance, tolerance, err_msg=name)


def test_shapes_are_per_token_and_window_after_window():
    measured = measure(model(), TOKENS)
    for name, value in measured.items():
        shapes = {(N, N)} if name in GRAMS else {(N, WINDOWS * TIME), (WINDOWS * TIME,)}
        assert value.shape in shapes, name
        assert value.dtype == np.float32 and type(value) is np.ndarray, name
    last = measure(model(), TOKENS[2:])
    np.testing.assert_allclose(measured["path_length"][2 * TIME :], last["path_length"], 1e-5)


def test_windows_at_once_changes_nothing_but_memory():
    whole = measure(model(), TOKENS)
    parts = measure(model(), TOKENS, windows_at_once=2)
    assert whole.keys() == parts.keys()
    for name, value in whole.items():
        np.testing.assert_allclose(parts[name], value, 1e-4, 1e-4, err_msg=name)


def test_models_of_one_structure_share_a_program_whatever_their_numbers():
    measure(model(ledger(mu=0.5)), TOKENS)
    compiled = RECORDED._cache_size()
    first = measure(model(ledger(mu=0.25), seed=1), TOKENS)
    second = measure(model(ledger(mu=0.75), seed=1), TOKENS)
    assert RECORDED._cache_size() == compiled
    assert first["path_length"].mean() > 1.2 * second["path_length"].mean()


def test_a_trained_model_shares_the_program_of_the_untrained_one():
    gpt = model()
    measure(gpt, TOKENS)
    compiled = RECORDED._cache_size()
    graph, params, rest = nnx.split(gpt, nnx.Param, ...)
    doubled = nnx.merge(graph, jax.jit(lambda p: jax.tree.map(lambda a: 2 * a, p))(params), rest)
    measure(doubled, TOKENS)
    assert RECORDED._cache_size() == compiled


def test_nothing_of_the_streams_width_leaves_the_program():
    graph, state = nnx.split(model())
    out = jax.eval_shape(lambda s, t: _recorded(graph, s, t), state, TOKENS[:, None])
    for name, value in out.items():
        shapes = {(N, N)} if name in GRAMS else {(N, 1, TIME), (1, TIME)}
        assert value.shape[0] == WINDOWS and value.shape[1:] in shapes, name


@pytest.mark.parametrize(("layers", "scan"), [(8, False), (24, True)])
def test_path_statistics_keep_no_copy_of_the_stream_per_sub_update(layers, scan):
    tokens = jnp.zeros((64, 8), jnp.int32)
    shallow, deep = temporary_bytes(2, scan, tokens), temporary_bytes(layers, scan, tokens)
    stream = tokens.size * 64 * 4
    # Kept states would be one copy a sub-update; seven numbers a token are a ninth of it.
    assert deep - shallow < 0.5 * 2 * (layers - 2) * stream


def temporary_bytes(layers: int, scan: bool, tokens: jax.Array) -> int:
    config = ModelConfig(
        layers=layers, scan=scan, width=64, heads=1, hidden=64, context=8, vocabulary=11
    )
    graph, state = nnx.split(model(config=config))

    @jax.jit
    def recorded(state, tokens):
        return nnx.merge(graph, state)(tokens, record=PathStatistics())[1]

    memory: Any = recorded.lower(state, tokens).compile().memory_analysis()
    return memory.temp_size_in_bytes


@pytest.mark.parametrize(
    ("windows", "at_once", "shape"),
    [(8, 1, (8, 1)), (8, 4, (2, 4)), (8, 5, (2, 4)), (3, 8, (1, 3)), (19, 8, (19, 1))],
)
def test_a_probe_runs_in_parts_of_one_size(windows, at_once, shape, monkeypatch):
    shapes = []

    def spy(graph, state, tokens):
        shapes.append(tokens.shape)
        n, time = tokens.shape[1], tokens.shape[2]
        per_token = np.arange(tokens.size, dtype=np.float32).reshape(shape[0], n, time)
        grams = np.arange(shape[0], dtype=np.float32)[:, None, None] * np.ones((N, N), np.float32)
        steps = np.stack([per_token, -per_token], 1)
        return {"chord": per_token, "step_length": steps, "step_gram": grams}

    monkeypatch.setattr("velocity_ledger.telemetry._measure._recorded", spy)
    probe = np.zeros((windows, TIME), np.int32)
    measured = measure(model(), probe, windows_at_once=at_once)
    assert shapes == [(*shape, TIME)]
    np.testing.assert_array_equal(measured["chord"], np.arange(windows * TIME))
    np.testing.assert_array_equal(measured["step_length"][1], -np.arange(windows * TIME))
    np.testing.assert_array_equal(measured["step_gram"], np.full((N, N), (shape[0] - 1) / 2))


@pytest.mark.parametrize(
    "scan", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["scanned", "unrolled"]
)
@pytest.mark.parametrize("integrator", [plain(), ledger()], ids=str)
def test_24_layers_are_measured_in_the_memory_of_a_forward_pass(integrator, scan):
    """At the published width, on a batch of 64."""
    config = ModelConfig(layers=24, scan=scan)
    graph, state = nnx.split(nnx.eval_shape(lambda: GPT(config, integrator, rngs=0)))
    tokens = jax.ShapeDtypeStruct((64, config.context), jnp.int32)
    forward = jax.jit(lambda s, t: nnx.merge(graph, s)(t))
    alone = peak_bytes(forward.lower(state, tokens))
    parts = tokens.update(shape=(64, 1, config.context))
    assert peak_bytes(RECORDED.lower(graph, state, parts)) < 1.2 * alone


def test_dropout_is_off():
    heavy = ModelConfig(
        layers=2, width=16, heads=2, hidden=32, context=8, vocabulary=11, dropout=0.9
    )
    first, second = measure(model(config=heavy), TOKENS), measure(model(), TOKENS)
    np.testing.assert_allclose(first["path_length"], second["path_length"], 1e-5)


class Foreign(nnx.Module):
    """Somebody else's model: linear fields on a stream of any type."""

    def __init__(self, dtype: Any) -> None:
        rngs = nnx.Rngs(0)
        self.dtype = dtype
        self.embed = nnx.Embed(11, 32, dtype=dtype, rngs=rngs)
        self.fields = nnx.List([nnx.Linear(32, 32, dtype=dtype, rngs=rngs) for _ in range(N)])

    def __call__(self, tokens, *, record):
        return integrate(list(self.fields), self.embed(tokens), ledger(), record=record)


def test_a_bfloat16_stream_is_measured_in_float32():
    low = Foreign(jnp.bfloat16)
    assert low(jnp.asarray(TOKENS), record=States())[1]["x"].dtype == jnp.bfloat16
    measured, exact = measure(low, TOKENS), measure(Foreign(jnp.float32), TOKENS)
    for name in ("path_length", "chord", "turning_angle"):
        assert measured[name].dtype == np.float32
        assert np.nanmean(measured[name]) == pytest.approx(np.nanmean(exact[name]), rel=0.02)
    # Reduced in bfloat16, lengths would all be among its 8-bit numbers.
    lengths = measured["step_length"]
    assert np.mean(lengths == lengths.astype(jnp.bfloat16)) < 0.1


def test_an_empty_probe_is_refused():
    with pytest.raises(UserError):
        measure(model(), TOKENS[:0])
    with pytest.raises(UserError):
        measure(model(), TOKENS, windows_at_once=0)


def test_what_is_measured_is_what_the_recorders_keep_of_the_whole_probe():
    both = Together(PathStatistics(), StepGram())
    _, recorded = model()(jnp.asarray(TOKENS), record=both)
    measured = measure(model(), TOKENS)
    assert recorded.keys() == measured.keys()
    for name, value in recorded.items():
        kept = value if name in GRAMS else value.reshape(*value.shape[:-2], -1)
        # An angle in degrees; the rest agrees to rounding.
        tolerance = 2e-3 if "ang" in name else 1e-5
        np.testing.assert_allclose(measured[name], kept, tolerance, tolerance, err_msg=name)
