"""Null models against their closed forms."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from velocity_ledger.errors import UserError
from velocity_ledger.integrators import (
    Composition,
    ledger,
    ngpt_ledger,
    ngpt_lite,
    plain,
)
from velocity_ledger.integrators.geometry import TangentSphere, TargetSphere
from velocity_ledger.integrators.momentum import Euler, HeavyBall
from velocity_ledger.integrators.step_scale import Fixed
from velocity_ledger.record import PathStatistics
from velocity_ledger.stream import integrate
from velocity_ledger.telemetry import _null, null_of_checkpoint, null_path, path_dataset, summarise

N, WIDTH = 12, 48
RADIUS = 3.0


def null(integrator, increments=None, **more):
    increments = np.ones(N) if increments is None else increments
    settings = {"sub_updates": N, "increments": increments, "initial_norm": 1.0, "width": WIDTH}
    return null_path(integrator, **(settings | more))


def ema_coordinates(mu: float, lengths: np.ndarray, damped: bool = True) -> np.ndarray:
    """Steps of the heavy ball in the coordinates of the increments, from its definition."""
    n = len(lengths)
    k, j = np.indices((n, n))
    gain = 1 - mu if damped else 1.0
    return np.where(j <= k, gain * mu ** np.clip(k - j, 0, None), 0.0) * lengths


def ema_null(mu: float, lengths: np.ndarray, initial: float, damped: bool = True):
    steps = ema_coordinates(mu, lengths, damped)
    norms = np.linalg.norm(steps, axis=1)
    cosine = np.sum(steps[1:] * steps[:-1], 1) / (norms[1:] * norms[:-1])
    path, total = norms.sum(), steps.sum(0)
    return {
        "path_length": path,
        "turning_angle": np.degrees(np.arccos(cosine)).mean(),
        "straightness": np.linalg.norm(total) / path,
        "path_over_norm": path / math.hypot(np.linalg.norm(total), initial),
    }


def test_plain_turns_at_right_angles():
    path = null(plain())
    assert path["path_length"] == pytest.approx(12, rel=1e-6)
    assert path["turning_angle"] == pytest.approx(90, rel=1e-6)
    assert path["straightness"] == pytest.approx(1 / math.sqrt(12), rel=1e-6)
    assert path["path_over_norm"] == pytest.approx(12 / math.sqrt(13), rel=1e-6)


def test_the_published_ledger_is_short_and_turns_little_from_its_filter_alone():
    path = null(ledger(mu=0.9))
    assert path["path_length"] / null(plain())["path_length"] == pytest.approx(0.18476, abs=5e-6)
    assert path["turning_angle"] == pytest.approx(32.31, abs=5e-3)
    assert path["straightness"] == pytest.approx(0.7821, abs=5e-5)


def test_the_turn_tends_to_arccos_mu():
    n = 200
    path = null(ledger(mu=0.9), np.ones(n), sub_updates=n, width=256, frames=1)
    limit = math.degrees(math.acos(0.9))
    assert limit < path["turning_angle"] < limit + 1


@settings(max_examples=20)
@given(
    mu=st.floats(-0.95, 0.95),
    damped=st.booleans(),
    lengths=st.lists(st.floats(0.01, 100), min_size=N, max_size=N),
    initial=st.floats(0, 50),
)
def test_any_lengths_agree_with_the_filter_written_out(mu, damped, lengths, initial):
    path = null(ledger(mu=mu, damped=damped), lengths, initial_norm=initial)
    for name, value in ema_null(mu, np.array(lengths), initial, damped).items():
        assert path[name] == pytest.approx(value, rel=2e-5, abs=2e-3), name


def test_a_sphere_agrees_with_the_rule_written_out():
    lengths = np.linspace(0.5, 3, N)
    radius, velocity = math.sqrt(WIDTH), np.zeros(N + 1)
    x = np.zeros(N + 1)
    x[0] = radius
    states = [x]
    for k, length in enumerate(lengths):
        velocity = 0.9 * velocity
        velocity[k + 1] += 0.1 * length
        x = (x + velocity) * radius / np.linalg.norm(x + velocity)
        states.append(x)
    steps = np.diff(states, axis=0)
    path = null(ngpt_ledger(mu=0.9), lengths, initial_norm=123.0)
    length = np.linalg.norm(steps, axis=1).sum()
    assert path["path_length"] == pytest.approx(length, rel=1e-5)
    assert path["final_norm"] == pytest.approx(radius, rel=1e-6)
    assert path["path_over_norm"] == pytest.approx(length / radius, rel=1e-5)


TARGET_LEDGER = Composition(HeavyBall(mu=0.9), TargetSphere(radius=RADIUS))
TANGENT = Composition(HeavyBall(mu=0.9), TangentSphere(radius=RADIUS))
TARGETS = {h: Composition(Euler(), TargetSphere(radius=RADIUS), Fixed(h)) for h in (0.1, 0.5, 1.0)}


@pytest.mark.parametrize("h", TARGETS)
@pytest.mark.parametrize("distance", [0.02, 1.0, math.sqrt(2) * RADIUS, 1.9 * RADIUS])
def test_a_pull_to_a_target_has_the_length_that_was_measured(h, distance):
    """All sub-updates turn x by one angle, each towards a direction that was never there before."""
    half = 2 * math.asin(distance / (2 * RADIUS))
    turn = math.atan2(h * math.sin(half), 1 - h + h * math.cos(half))
    cosine = math.cos(turn)
    path = null(TARGETS[h], np.full(N, distance))
    assert path["path_length"] == pytest.approx(2 * N * RADIUS * math.sin(turn / 2), rel=2e-4)
    assert path["angular_path"] == pytest.approx(N * math.degrees(turn), rel=2e-4)
    chord = RADIUS * math.sqrt(-2 * math.expm1(N * math.log(abs(cosine))))
    if cosine > 0:
        assert path["chord"] == pytest.approx(chord, rel=2e-4)
    # <d_k, d_(k+1)> = -(1 - cos)^2 r^2, and |d|^2 = 2 (1 - cos) r^2.
    between = math.degrees(math.acos(-(1 - cosine) / 2))
    assert path["turning_angle"] == pytest.approx(between, abs=0.05)


@pytest.mark.parametrize("integrator", [TARGETS[0.5], TARGET_LEDGER, TANGENT], ids=str)
def test_a_null_s_own_increments_are_those_given(integrator):
    width = 5  # So that directions recur, and what is across x is less than the whole.
    lengths = np.linspace(0.3, 1.8, N) * RADIUS
    lengths[3] = 0.0
    frame = np.linalg.qr(np.random.default_rng(0).normal(size=(width, width)))[0]
    own = _null._per_sub_update(integrator, width, N, None)
    steps = lengths[:, None, None] * frame[np.arange(1, N + 1) % width][:, None]
    recorded = _null._run(integrator, *map(jnp.float32, (RADIUS * frame[:1], steps)), own)
    np.testing.assert_allclose(recorded["increment"][:, 0], lengths, rtol=2e-5, atol=1e-5)


def test_unrelated_targets_measured_are_their_own_null():
    """A model whose outputs know nothing of x is, on average, what its null model says."""
    width, tokens, n = 512, 32, 6
    outputs = np.random.default_rng(0).normal(size=(n, tokens, width)).astype(np.float32)
    x = np.random.default_rng(1).normal(size=(tokens, width)).astype(np.float32)
    integrator = Composition(HeavyBall(mu=0.9), TargetSphere(), Fixed(0.5))

    @jax.jit
    def run(outputs, x):
        fields = [functools.partial(lambda f, x: f, f) for f in outputs]
        return integrate(fields, x, integrator, record=PathStatistics())[1]

    flat = {name: np.asarray(value) for name, value in run(outputs, x).items()}
    data = path_dataset({0: flat}, windows=1)
    measured = summarise(data, 0)
    path = null_of_checkpoint(data, 0, integrator, width=width)
    for name in ("path_length", "straightness", "angular_path", "turning_angle"):
        assert path[name] == pytest.approx(measured[name], rel=0.02), name


def test_learned_step_scales_are_used():
    lengths = np.ones(N)
    alpha = np.full((N, WIDTH), 0.25, np.float32)
    scaled = null(ngpt_lite(), lengths, parameters={"alpha": alpha})
    shorter = null(ngpt_lite(), 0.25 * lengths)
    assert scaled["path_length"] == pytest.approx(shorter["path_length"], rel=1e-5)
    assert scaled["path_length"] < 0.5 * null(ngpt_lite(), lengths)["path_length"]


def test_uneven_step_scales_are_averaged_over_seeded_frames():
    alpha = np.random.default_rng(0).random((N, WIDTH), np.float32) + 0.5
    first = null(ngpt_lite(), parameters={"alpha": alpha}, seed=1)
    assert first == null(ngpt_lite(), parameters={"alpha": alpha}, seed=1)
    other = null(ngpt_lite(), parameters={"alpha": alpha}, seed=2)
    assert first != other
    assert other["path_length"] == pytest.approx(first["path_length"], rel=0.02)


def test_without_learned_parameters_the_frame_does_not_matter():
    for name, value in null(ledger(), seed=1, frames=1).items():
        assert null(ledger(), seed=2)[name] == pytest.approx(value, rel=1e-5, abs=1e-3), name


def test_zero_increments_have_no_angle_and_are_no_step():
    path = null(plain(), np.array([1.0, 0, 1, 1] * 3))
    assert path["path_length"] == pytest.approx(9, rel=1e-6)
    assert path["turning_angle"] == pytest.approx(90, rel=1e-6)
    assert math.isnan(null(plain(), np.zeros(N))["straightness"])


def test_deeper_than_wide_is_orthogonal_within_groups():
    n = 20
    path = null(plain(), np.ones(n), sub_updates=n, width=8, frames=64)
    assert path["path_length"] == pytest.approx(n, rel=1e-6)
    assert path["turning_angle"] == pytest.approx(90, abs=3)


def test_null_of_a_checkpoint_uses_its_mean_increments_and_start():
    rng = np.random.default_rng(0)
    increment = rng.random((N, 6), np.float32)
    measured = {"increment": increment, "initial_norm": rng.random(6, np.float32)}
    data = path_dataset({0: measured, 5: measured}, windows=2)
    path = null_of_checkpoint(data, 5, ledger(), width=WIDTH)
    start = measured["initial_norm"].mean()
    assert path == pytest.approx(null(ledger(), increment.mean(1), initial_norm=start), rel=1e-5)
    with pytest.raises(UserError, match="step 6"):
        null_of_checkpoint(data, 6, ledger(), width=WIDTH)
    with pytest.raises(UserError, match="initial_norm"):
        null_of_checkpoint(data.drop_vars("initial_norm"), 5, ledger(), width=WIDTH)
    assert set(path) >= set(summarise(data, 5)) - {"angles", "zero_steps"}


@pytest.mark.parametrize(
    "wrong", [{"sub_updates": 3}, {"width": 0}, {"frames": 0}, {"parameters": {"mu": 1.0}}]
)
def test_wrong_sizes_are_refused(wrong):
    with pytest.raises(UserError):
        null(plain(), **wrong)
