import itertools

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from velocity_ledger.corpus import window_starts, window_starts_of, windows
from velocity_ledger.errors import UserError

words = st.integers(0, 2**32 - 1) | st.sampled_from([0, 1, 4295, 5000, 2**31, 2**32 - 1])
LONG = np.arange(5_000_000, dtype=np.int32)


@given(
    length=st.integers(2, 400),
    batch=st.integers(1, 9),
    seed=words,
    step=words,
    data=st.data(),
)
def test_rows_are_consecutive_characters_of_the_text(length, batch, seed, step, data) -> None:
    context = data.draw(st.integers(1, length - 1))
    ids = np.arange(1000, 1000 + length, dtype=np.int32)
    drawn = windows(ids, batch=batch, context=context, seed=seed, step=step)
    assert drawn.shape == (batch, context + 1)
    assert drawn.dtype == np.int32
    np.testing.assert_array_equal(np.diff(drawn, axis=1), 1)
    assert drawn.min() >= 1000 and drawn.max() < 1000 + length


@given(st.lists(st.tuples(words, words), min_size=2, max_size=5), st.randoms())
def test_seed_and_step_alone_decide(pairs, random) -> None:
    first = {p: windows(LONG, batch=4, context=3, seed=p[0], step=p[1]) for p in pairs}
    np.random.seed(random.randrange(2**32))
    random.shuffle(pairs)
    for seed, step in pairs:
        again = windows(LONG, batch=4, context=3, seed=seed, step=step)
        np.testing.assert_array_equal(again, first[seed, step])


@given(st.tuples(words, words), st.tuples(words, words))
def test_another_seed_or_step_is_another_batch(one, other) -> None:
    assume(one != other)
    starts = [windows(LONG, batch=8, context=1, seed=s, step=t)[:, 0] for s, t in (one, other)]
    assert not np.array_equal(starts[0], starts[1])


def test_streams_of_neighbouring_seeds_never_meet() -> None:
    # seed * 1000003 + step gives (0, 1000003 + t) and (1, t) the same batch.
    pairs = [(0, 1_000_003 + t) for t in range(50)] + [(1, t) for t in range(50)]
    batches = {windows(LONG, batch=4, context=1, seed=s, step=t).tobytes() for s, t in pairs}
    assert len(batches) == len(pairs)


@pytest.mark.parametrize(("length", "context"), [(12, 4), (2, 1), (9, 8), (9, 1)])
def test_every_window_is_reached_the_last_too(length: int, context: int) -> None:
    ids = np.arange(length, dtype=np.int32)
    drawn = windows(ids, batch=2000, context=context, seed=0, step=0)
    assert set(drawn[:, 0].tolist()) == set(range(length - context))
    assert drawn.min() == 0 and drawn.max() == length - 1


def test_the_ends_of_a_long_text_are_reached() -> None:
    drawn = windows(LONG[:1000], batch=50_000, context=127, seed=3, step=9)
    assert drawn.min() == 0 and drawn.max() == 999


def test_starts_are_uniform_over_steps_and_rows() -> None:
    ids = np.arange(9, dtype=np.int32)
    starts = [windows(ids, batch=8, context=1, seed=7, step=t)[:, 0] for t in range(1000)]
    counts = np.bincount(np.concatenate(starts), minlength=8)
    # Chi-squared with 7 degrees of freedom: 24.3 is passed once in a thousand.
    assert ((counts - 1000) ** 2 / 1000).sum() < 24.3


def test_rows_and_steps_are_independent() -> None:
    drawn = np.stack(
        [windows(LONG, batch=16, context=1, seed=1, step=t)[:, 0] for t in range(2000)]
    ).astype(np.float64)
    flat = (drawn / LONG.size - 0.5) * np.sqrt(12.0)
    correlation = flat.T @ flat / 2000 - np.eye(16)
    assert np.abs(correlation).max() < 5 / np.sqrt(2000)
    lagged = (flat[1:] * flat[:-1]).mean(0)
    assert np.abs(lagged).max() < 5 / np.sqrt(2000)


def _philox(seed: int, step: int, count: int) -> list[int]:
    """Philox4x64-10 in Python's whole numbers, from the paper."""
    mask, out = 2**64 - 1, []
    for block in itertools.count(1):
        counter, key = [block, 0, 0, 0], [seed, step]
        for _ in range(10):
            high0, low0 = divmod(0xD2E7470EE14C6C93 * counter[0], 2**64)
            high1, low1 = divmod(0xCA5A826395121157 * counter[2], 2**64)
            counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0]
            key = [(key[0] + 0x9E3779B97F4A7C15) & mask, (key[1] + 0xBB67AE8584CAA73B) & mask]
        out += counter
        if len(out) >= count:
            return out[:count]
    raise AssertionError


@given(words, words)
def test_starts_follow_the_documented_formula(seed: int, step: int) -> None:
    drawn = windows(LONG, batch=7, context=128, seed=seed, step=step)
    places = LONG.size - 128
    assert drawn[:, 0].tolist() == [r * places >> 64 for r in _philox(seed, step, 7)]


@pytest.mark.parametrize("length", range(6))
def test_too_few_characters_name_the_largest_context(length: int) -> None:
    ids = np.zeros(length, np.int32)
    with pytest.raises(UserError, match=f"largest context they allow is {max(length - 1, 0)}"):
        windows(ids, batch=1, context=6, seed=0, step=0)


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"step": -1}, {"seed": 2**64}, {"context": 0}])
def test_numbers_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="got"):
        windows(LONG, **({"batch": 1, "context": 1, "seed": 0, "step": 0} | wrong))


@given(
    seed=st.integers(0, 2**64 - 1), first=st.integers(0, 2**64 - 10), batch=st.integers(1, 9),
    length=st.sampled_from([30, 5_000_000, 2**40]),
)  # fmt: skip
def test_several_steps_at_once_are_each_its_own_generator(seed, first, batch, length) -> None:
    sizes = {"batch": batch, "context": 7, "seed": seed}
    found = window_starts_of(length, steps=range(first, first + 5), **sizes)
    assert found.shape == (5, batch)
    for row, step in zip(found, range(first, first + 5), strict=True):
        raw = np.random.Philox(key=np.array([seed, step], np.uint64)).random_raw(batch)
        assert row.tolist() == [int(r) * (length - 7) >> 64 for r in raw]
        assert row.tolist() == window_starts(length, step=step, **sizes).tolist()
    assert window_starts_of(length, steps=range(first, first), **sizes).shape == (0, batch)
