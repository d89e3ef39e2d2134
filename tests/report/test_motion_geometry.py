"""Paths in a plane: what is exact, and what alignment and layout promise."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from velocity_ledger.report.motion._geometry import (
    alignment,
    lay_out,
    mix,
    place,
    upright,
)
from velocity_ledger.report.motion._walk import aligned, laid_out

numbers = st.floats(-10, 10, allow_subnormal=False).map(lambda x: round(x, 6))


def vectors(most=8, dims=None):
    shape = st.tuples(st.integers(1, most), st.just(dims) if dims else st.integers(1, 6))
    return shape.flatmap(lambda s: arrays(np.float64, s, elements=numbers))


def states(steps):
    return np.vstack([np.zeros(steps.shape[1]), np.cumsum(steps, axis=0)])


def distances(points):
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


@given(vectors())
def test_all_dimensions_give_all_distances(steps):
    n = len(steps)
    placed = place(steps @ steps.T, n + 1)
    np.testing.assert_allclose(distances(placed.points), distances(states(steps)), atol=2e-4)
    assert placed.variance == pytest.approx(1.0)
    np.testing.assert_allclose(placed.points[0], 0.0, atol=1e-12)


@given(vectors())
def test_a_plane_loses_length_and_never_adds_any(steps):
    placed = place(steps @ steps.T)
    assert placed.points.shape == (len(steps) + 1, 2)
    assert (distances(placed.points) <= distances(states(steps)) + 2e-4).all()
    assert 0 <= placed.variance <= 1 + 1e-12 and 0 <= placed.length <= 1


@given(vectors(), st.integers(0, 1000))
def test_axes_place_any_vector_where_a_projection_does(steps, seed):
    """The plane's axes, built from the vectors themselves, against inner products alone."""
    others = np.random.default_rng(seed).normal(size=(3, steps.shape[1]))
    placed = place(steps @ steps.T)
    np.testing.assert_allclose(
        (steps @ steps.T) @ placed.axes, np.diff(placed.points, axis=0), atol=2e-4
    )
    found = (others @ steps.T) @ placed.axes
    # An orthonormal basis of the states' span, in which the plane's axes are unit vectors.
    centred = states(steps) - states(steps).mean(0)
    _, sizes, basis = np.linalg.svd(centred, full_matrices=False)
    clear = sizes > 1e-3
    if len(sizes) > 2 and clear[1] and sizes[1] - sizes[2] < 1e-2 * sizes[0]:
        return  # Two axes of one variance are no plane of their own.
    expected = others @ (basis[:2] * clear[:2, None]).T
    seen = np.linalg.norm(found, axis=1)
    if clear[: min(2, len(clear))].all():
        np.testing.assert_allclose(seen, np.linalg.norm(expected, axis=1), atol=1e-4)


def test_a_plane_path_is_seen_as_it_is():
    steps = np.array([[3.0, 0.0], [0.0, 2.0], [-1.0, 0.5]])
    placed = place(steps @ steps.T)
    assert placed.variance == pytest.approx(1) and placed.length == pytest.approx(1)
    turned = placed.points @ alignment(placed.points, states(steps))
    np.testing.assert_allclose(turned, states(steps), atol=1e-9)


@given(st.floats(0.1, 100), st.integers(1, 20))
def test_a_straight_path_is_a_straight_line(length, n):
    gram = np.full((n, n), length**2)
    for points in (place(gram).points, lay_out(np.full(n, length), np.zeros(n))):
        points = points @ upright(points)
        np.testing.assert_allclose(points[:, 1], 0.0, atol=1e-7 * length * n)
        np.testing.assert_allclose(points[:, 0], length * np.arange(n + 1), rtol=1e-7, atol=1e-9)


def test_a_path_of_no_length_stays():
    placed = place(np.zeros((5, 5)))
    assert not placed.points.any() and not placed.axes.any()
    assert placed.variance == placed.length == 1.0
    assert not lay_out(np.zeros(3), np.full(3, np.nan)).any()


@given(
    arrays(np.float64, 9, elements=st.floats(0.1, 50)),
    arrays(np.float64, 9, elements=st.floats(0, 179)),
)
def test_laid_out_lengths_and_turns_are_those_given(lengths, angles):
    angles[0] = np.nan
    steps = np.diff(lay_out(lengths, angles), axis=0)
    np.testing.assert_allclose(np.linalg.norm(steps, axis=1), lengths, rtol=1e-9)
    cross = steps[:-1, 0] * steps[1:, 1] - steps[:-1, 1] * steps[1:, 0]
    turns = np.degrees(np.arctan2(cross, (steps[:-1] * steps[1:]).sum(1)))
    np.testing.assert_allclose(np.abs(turns), angles[1:], atol=1e-5)
    clear = angles[1:] > 1e-3
    expected = np.where(np.arange(8) % 2 == 0, 1.0, -1.0)  # Left and right in turn.
    assert (np.sign(turns)[clear] == expected[clear]).all()


def test_an_undefined_angle_goes_straight_on():
    points = lay_out(np.array([1.0, 2.0, 0.0, 1.0]), np.full(4, np.nan))
    np.testing.assert_allclose(points, [[0, 0], [1, 0], [3, 0], [3, 0], [4, 0]])


@given(vectors(dims=2), st.integers(0, 1000))
def test_alignment_never_increases_a_distance(steps, seed):
    points = states(steps)
    to = points + np.random.default_rng(seed).normal(size=points.shape)
    turn = alignment(points, to)
    np.testing.assert_allclose(turn @ turn.T, np.eye(2), atol=1e-9)
    assert np.linalg.norm(points @ turn - to) <= np.linalg.norm(points - to) + 1e-9


@given(vectors(), vectors(), st.floats(0, 1))
def test_mixed_inner_products_are_those_of_a_path(a, b, share):
    n = min(len(a), len(b))
    gram = mix(a[:n] @ a[:n].T, b[:n] @ b[:n].T, share)
    assert np.linalg.eigvalsh(gram).min() > -1e-6
    # Squared lengths, of steps and of the chord, lie between the two.
    for read in (np.trace, np.sum):
        ends = sorted([read(a[:n] @ a[:n].T), read(b[:n] @ b[:n].T)])
        assert ends[0] - 1e-6 <= read(gram) <= ends[1] + 1e-6


@given(vectors(dims=2))
def test_upright_puts_the_end_to_the_right_and_the_path_above(steps):
    points = states(steps)
    turned = points @ upright(points)
    np.testing.assert_allclose(distances(turned), distances(points), atol=1e-9)
    assert turned[-1, 0] >= -1e-9 and abs(turned[-1, 1]) < 1e-6
    assert turned[:, 1].sum() > -1e-6


def test_mirrored_and_spun_frames_come_to_rest():
    path = laid_out(np.array([3.0, 2.0, 4.0, 1.0]), np.array([np.nan, 40.0, 20.0, 70.0]))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    frames = [path, path.turned(turn), path.turned(np.diag([1.0, -1.0])), path]
    for frame in aligned(frames):
        np.testing.assert_allclose(frame.points, path.points, atol=1e-9)
    assert aligned([]) == []
