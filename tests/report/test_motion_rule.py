"""How a variant moves, read from a manifest."""

import numpy as np
import pytest

from velocity_ledger.report.motion._rule import ledger_like, rule_of

FIXED = "Fixed(h=1.0)"


def record(momentum, geometry="Flat()", step_scale=FIXED, **more):
    axes = {"momentum": momentum, "geometry": geometry, "step_scale": step_scale}
    return {"text": "x", "axes": axes, **more}


@pytest.mark.parametrize(
    ("given", "kind", "equation", "words"),
    [
        (record("Euler()"), "plain", "x ← x + f", "takes the whole push, then forgets it"),
        (
            record("Euler()", step_scale="Fixed(h=0.5)"),
            "plain", "x ← x + 0.5 f", "takes 50 % of the push, then forgets it",
        ),
        (
            record("HeavyBall(mu=0.95, damped=True, debias=False)"),
            "ledger", "v ← 0.95 v + 0.05 f,   x ← x + v",
            "keeps 95 % of its velocity, adds 5 % of the push",
        ),
        (
            record("HeavyBall(mu=0.9, damped=False, debias=False)", step_scale="Fixed(h=0.1)"),
            "ledger", "v ← 0.9 v + f,   x ← x + 0.1 v",
            "keeps 90 % of its velocity, adds the whole push",
        ),
        (
            {"text": "ledger"},
            "ledger", "v ← μ v + (1 − μ) f,   x ← x + v",
            "folds the push into a velocity, then moves by it",
        ),
        ({"text": "plain"}, "plain", "x ← x + f", "takes the whole push, then forgets it"),
        (
            record("HeavyBall(mu=0.9)", "Sphere(radius=None)", description="On a: `x = r(x)`."),
            "other", "x = r(x)", "",
        ),
        (record("Euler()", step_scale="Alpha(alpha=1.0, h=1.0)"), "other", "", ""),
        ({"text": "ngpt_lite"}, "other", "", ""),
        ({"text": "mine", "axes": {"integrator": "Braked(mu=0.9)"}}, "other", "", ""),
        (record("__import__('os').system('no')", "("), "other", "", ""),
    ],
)  # fmt: skip
def test_what_the_manifest_says(given, kind, equation, words):
    rule = rule_of(given)
    assert (rule.kind, rule.equation, rule.words) == (kind, equation, words)


def test_velocities_are_those_that_make_the_steps():
    pushes = np.random.default_rng(0).normal(size=(6, 2))
    for debias in (False, True):
        v, steps, velocities = np.zeros(2), [], []
        for k, f in enumerate(pushes):
            v = 0.9 * v + (1 - 0.9) * f
            velocities.append(v)
            steps.append(0.5 * v / (1 - 0.9 ** (k + 1) if debias else 1))
        given = record(f"HeavyBall(mu=0.9, damped=True, debias={debias})", step_scale="Fixed(h=.5)")
        rule = rule_of(given)
        found = rule.velocities(np.array(steps))
        assert found is not None
        np.testing.assert_allclose(found, velocities, rtol=1e-12)
        assert rule.keep == 0.9 and rule.gain == pytest.approx(0.1)


def test_no_velocity_where_the_manifest_does_not_tell_it():
    steps = np.ones((3, 2))
    assert rule_of(record("Euler()")).velocities(steps) is None
    still = record("HeavyBall(mu=0.9)", step_scale="Fixed(h=0.0)")
    assert rule_of(still).velocities(steps) is None
    unknown = record("HeavyBall(mu=learned, debias=True)")
    assert rule_of(unknown).velocities(steps) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (record("HeavyBall(mu=0.9)", "Sphere()"), True),
        (record("Euler()"), False),
        ({"text": "ngpt_ledger"}, True),
        ({"text": "plain"}, False),
    ],
)
def test_what_is_like_a_ledger(given, expected):
    assert ledger_like(given) is expected
