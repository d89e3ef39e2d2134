"""Random bits as a function of a key and a place: rows drawn in pieces, rate and independence."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from velocity_ledger.model import dropout, rows_key
from velocity_ledger.model._bits import drawn, words
from velocity_ledger.model._dropout import kept

KEY = jax.random.key(7)
SHAPE = (8, 6, 5)

DRAWS = {
    "uniform": lambda key, shape: jax.random.uniform(key, shape),
    "bits8": lambda key, shape: jax.random.bits(key, shape, jnp.uint8),
    "bits16": lambda key, shape: jax.random.bits(key, shape, jnp.uint16),
    "signs": lambda key, shape: jax.random.rademacher(key, shape, jnp.float32),
    "dropout": lambda key, shape: dropout(jnp.ones(shape), 0.3, key),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("pieces", [1, 2, 8])
def test_rows_are_the_same_in_pieces(name: str, pieces: int) -> None:
    draw = DRAWS[name]
    size = SHAPE[0] // pieces
    whole = draw(jax.random.fold_in(rows_key(KEY, 0), 3), SHAPE)
    # Folding comes after the row or before it.
    parts = [
        draw(jax.random.fold_in(rows_key(KEY, i * size), 3), (size, *SHAPE[1:]))
        for i in range(pieces)
    ]
    again = [
        draw(rows_key(jax.random.fold_in(KEY, 3), i * size), (size, *SHAPE[1:]))
        for i in range(pieces)
    ]
    for found in (parts, again):
        np.testing.assert_array_equal(np.concatenate(found), whole)
    assert len(np.unique(np.asarray(whole))) > 1


def test_a_shared_mask_is_the_same_for_all_rows() -> None:
    """Also where a piece is one row, whose shape does not tell."""
    x = jnp.ones((1, 3, 8, 8))
    masks = [dropout(x, 0.5, rows_key(KEY, row), (1, 1, 8, 8)) for row in (0, 1, 5)]
    for mask in masks[1:]:
        np.testing.assert_array_equal(mask, masks[0])
    own = [dropout(x, 0.5, rows_key(KEY, row)) for row in (0, 1)]
    assert not np.array_equal(own[0], own[1])


def test_any_kind_of_key_serves() -> None:
    x = jnp.ones(1000)
    keys = [
        jax.random.key(0),
        jax.random.key(1),
        jax.random.key(9, impl="rbg"),
        jax.random.PRNGKey(3),
        rows_key(jax.random.key(4), 0),
    ]
    found = [np.asarray(dropout(x, 0.5, key)) for key in keys]
    for a, b in itertools.combinations(found, 2):
        assert abs((a == b).mean() - 0.5) < 0.1
    # A key that begins at row 0 draws what the key it was made of draws.
    np.testing.assert_array_equal(dropout(x, 0.5, rows_key(keys[0], 0)), found[0])


def test_both_words_of_a_key_with_equal_halves_count() -> None:
    key = jax.random.fold_in(jax.random.key(9, impl="rbg"), 1)
    data = np.asarray(jax.random.key_data(key))
    np.testing.assert_array_equal(data[:2], data[2:])
    first, second, _ = words(key)
    assert int(first) != int(second)


@pytest.mark.parametrize("inner", [(16, 2**24), (12, 2**20), (3, 2**20)])
def test_rows_share_no_bits_where_places_pass_32_bits(inner: tuple[int, ...]) -> None:
    """Nor shifted ones: heads of the attention of long contexts, far down a batch."""
    size = int(np.prod(inner))
    # Seen through one head of a row at a time; a row as a whole would not fit.
    alike = -(-(2**32) // size)  # whose first place is near that of row 0, modulo 2^32
    of = jax.jit(lambda row: drawn(jnp.uint32(5), jnp.uint32(6), (1, *inner), row)[0, :, :4096])
    first, later = (np.asarray(of(jnp.uint32(row))).ravel() for row in (0, alike))
    assert len(np.intersect1d(first, later)) < 30


def test_splits_differ_and_keep_their_row() -> None:
    first, second = jax.random.split(rows_key(KEY, 9))
    assert not np.array_equal(jax.random.uniform(first, (5,)), jax.random.uniform(second, (5,)))
    assert int(jax.random.key_data(first)[2]) == int(jax.random.key_data(second)[2]) == 9


LAYERS, STEPS, ROWS, TIME, WIDTH = 12, 6, 8, 32, 48


@pytest.fixture(scope="module")
def masks() -> np.ndarray:
    """What stays at .85, [steps, layers, rows, time, width], under keys folded as a run's are."""
    root = jax.random.key(0)

    @jax.jit
    def of(step: jax.Array, layer: jax.Array) -> jax.Array:
        key = rows_key(jax.random.fold_in(root, step), 0)
        for number in (layer, 0, 1):
            key = jax.random.fold_in(key, number)
        return kept(key, 0.15, (ROWS, TIME, WIDTH))

    return np.asarray(
        [[of(jnp.int32(s), jnp.int32(k)) for k in range(LAYERS)] for s in range(STEPS)], np.float64
    )


def test_the_rate_holds_along_every_axis(masks: np.ndarray) -> None:
    p = 0.85
    for axis in range(5):
        rates = masks.mean(axis=tuple(a for a in range(5) if a != axis))
        deviation = (p * (1 - p) / (masks.size / len(rates))) ** 0.5
        z = (rates - p) / deviation
        assert np.abs(z).max() < 5
        # The rates of, say, the 48 dimensions spread as chance would have it, no less either.
        assert 0.3 < z.std() < 2.0 if len(rates) > 5 else True


@pytest.mark.parametrize("axis", range(5), ids=["step", "layer", "row", "position", "dimension"])
def test_masks_are_independent_along_every_axis(masks: np.ndarray, axis: int) -> None:
    moved = np.moveaxis((masks - 0.85) / (0.85 * 0.15) ** 0.5, axis, 0)
    for lag in (1, 2, 3, 4, 5):
        product = moved[lag:] * moved[:-lag]
        assert abs(product.mean()) < 5 / product.size**0.5, lag


def test_pairs_of_layers_and_of_steps_are_independent(masks: np.ndarray) -> None:
    flat = ((masks - 0.85) / (0.85 * 0.15) ** 0.5).reshape(STEPS * LAYERS, -1)
    correlation = flat @ flat.T / flat.shape[1]
    others = correlation[~np.eye(len(flat), dtype=bool)] * flat.shape[1] ** 0.5
    assert np.abs(others).max() < 5
    assert others.std() == pytest.approx(1.0, abs=0.1)


def test_no_two_keys_have_shifted_copies_of_one_mask() -> None:
    """Bits that depend on index xor key alone would be each other's permutations."""
    n = 4096
    a = drawn(jnp.uint32(1), jnp.uint32(2), (n,))
    b = drawn(jnp.uint32(3), jnp.uint32(9), (n,))
    assert len(np.intersect1d(np.asarray(a), np.asarray(b))) < 20


def test_every_bit_is_fair() -> None:
    bits = np.asarray(drawn(jnp.uint32(5), jnp.uint32(6), (2**17,)))
    shares = [((bits >> k) & 1).mean() for k in range(32)]
    assert np.abs(np.array(shares) - 0.5).max() < 5 * 0.5 / 2**8.5
