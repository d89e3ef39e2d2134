"""The recorded statistics against a NumPy float64 version of their definitions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from telemetry.reference import path_metrics
from velocity_ledger.integrators import ledger, ngpt_ledger, ngpt_lite, plain
from velocity_ledger.record import PathStatistics, States
from velocity_ledger.stream import integrate

N, TOKENS, WIDTH = 4, 5, 16
ANGLES = ("turning_angle", "angular_step", "angular_path")
# 1e-6 radians, as degrees.
DEGREES = 6e-5


@jax.jit
def run(x0, increments, integrator):
    fields = [lambda _, f=f: f for f in increments]
    return integrate(fields, x0, integrator, record=PathStatistics())[1]


@jax.jit
def states_of(x0, increments, integrator):
    fields = [lambda _, f=f: f for f in increments]
    return integrate(fields, x0, integrator, record=States())[1]["x"]


def check(recorded, reference):
    for name, value in reference.items():
        measured = np.asarray(recorded[name], np.float64)
        assert recorded[name].dtype == jnp.float32, name
        np.testing.assert_array_equal(np.isnan(measured), np.isnan(value), err_msg=name)
        steps = N if name == "angular_path" else 1
        relative, absolute = (0, DEGREES * steps) if name in ANGLES else (2e-6, 0)
        np.testing.assert_allclose(measured, value, relative, absolute, err_msg=name)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), exponent=st.sampled_from([0, -66, 60, 100]))
def test_exact_paths_of_any_size_agree(seed, exponent):
    # Whole numbers times a power of two: the float32 sums are exact, so all that is compared is
    # the metrics. Steps are zero, repeated and reversed at random.
    rng = np.random.default_rng(seed)
    x0 = rng.integers(-8, 9, (TOKENS, WIDTH))
    steps = rng.integers(-8, 9, (N, TOKENS, WIDTH))
    for k in range(1, N):
        kind = rng.integers(0, 5, (TOKENS, 1))
        again = np.where(kind == 1, steps[k - 1], np.where(kind == 2, -steps[k - 1], steps[k]))
        steps[k] = np.where(kind == 0, 0, again)
    scale = np.float32(2.0**exponent)
    recorded = run((x0 * scale).astype(np.float32), (steps * scale).astype(np.float32), plain())
    states = np.concatenate([x0[None], x0 + np.cumsum(steps, 0)]) * float(scale)
    check(recorded, path_metrics(states))


@pytest.mark.parametrize("integrator", [plain(), ledger(), ngpt_lite(), ngpt_ledger()], ids=str)
def test_every_integrators_path_agrees_with_its_states(integrator):
    rng = np.random.default_rng(3)
    x0 = rng.standard_normal((TOKENS, WIDTH)).astype(np.float32)
    steps = rng.standard_normal((N, TOKENS, WIDTH)).astype(np.float32)
    recorded = run(x0, steps, integrator)
    reference = path_metrics(np.asarray(states_of(x0, steps, integrator)))
    for name, value in reference.items():
        # The states are rounded to float32, so their differences are not the steps exactly.
        tolerance = 1e-3 if name in ANGLES else 1e-5
        np.testing.assert_allclose(recorded[name], value, tolerance, tolerance, err_msg=name)


def test_identical_steps_turn_by_exactly_zero_and_opposite_ones_by_exactly_180():
    step = np.random.default_rng(0).standard_normal((1, WIDTH)).astype(np.float32)
    turning = run(np.zeros_like(step), np.stack([step, step, -step]), plain())["turning_angle"]
    np.testing.assert_array_equal(np.asarray(turning)[:, 0], [np.nan, 0, 180])


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
@pytest.mark.parametrize("radians", [1e-5, 1e-3, 1.0, np.pi - 1e-4])
def test_small_angles_keep_their_digits(size, radians):
    first = np.zeros((1, 3))
    second = first.copy()
    first[0, 0], second[0] = size, [size * np.cos(radians), size * np.sin(radians), 0]
    steps = np.stack([first, second]).astype(np.float32)
    recorded = run(np.zeros_like(steps[0]), steps, plain())
    assert np.radians(recorded["turning_angle"][1, 0]) == pytest.approx(radians, abs=1e-6)


def test_a_path_of_zeros_is_all_zero_steps():
    zero = np.zeros((2, WIDTH), np.float32)
    recorded = run(zero, np.stack([zero] * 3), ledger())
    assert np.isnan(recorded["turning_angle"]).all() and np.isnan(recorded["straightness"]).all()
    assert np.asarray(recorded["zero_steps"]).tolist() == [3, 3]
    assert np.asarray(recorded["path_length"]).tolist() == [0, 0]


def test_telemetry_of_a_bfloat16_stream_is_float32():
    rng = np.random.default_rng(1)
    x0 = jnp.asarray(rng.integers(-8, 9, (TOKENS, WIDTH)), jnp.bfloat16)
    steps = jnp.asarray(rng.integers(-8, 9, (N, TOKENS, WIDTH)), jnp.bfloat16)
    recorded = run(x0, steps, plain())
    # Whole numbers this small are exact in bfloat16, so rounding could only come from the metrics.
    states = np.concatenate([x0[None], x0[None] + np.cumsum(np.asarray(steps, float), 0)])
    check(recorded, path_metrics(states))


def test_a_velocity_is_recorded_only_where_there_is_one():
    x0 = np.ones((TOKENS, WIDTH), np.float32)
    steps = np.ones((N, TOKENS, WIDTH), np.float32)
    assert "velocity_norm" not in run(x0, steps, plain())
    recorded = run(x0, steps, ledger(mu=0.5))
    np.testing.assert_array_equal(recorded["velocity_norm"], recorded["step_length"])
    np.testing.assert_allclose(recorded["increment"], 4.0)
