"""Sampling: the window, the draws, and what is refused."""

import dataclasses as dc
import functools
import itertools
from typing import Any

import jax
import numpy as np
import pytest
from flax import nnx
from scipy import stats

import velocity_ledger as vl
from velocity_ledger.errors import UserError
from velocity_ledger.model import GPT, ModelConfig, generate

CONFIG = ModelConfig(layers=1, width=16, heads=2, hidden=32, context=6, vocabulary=7, dropout=0.5)


def model(form: str = "ledger", scan: bool = False) -> GPT:
    config = ModelConfig(**{**vars(CONFIG), "scan": scan})
    gpt = GPT(config, vl.parse(form), rngs=0)
    # As initialised, all tokens are about equally likely.
    gpt.head.kernel.set_value(8 * gpt.head.kernel[...])
    return gpt


def prompt(time: int, rows: int = 2) -> np.ndarray:
    return np.random.default_rng(time).integers(0, 7, (rows, time)).astype(np.int32)


@functools.partial(jax.jit, static_argnums=0)
def forward(graph: Any, state: Any, ids: Any) -> Any:
    return nnx.merge(graph, state)(ids)


def next_logits(gpt: GPT, tokens: np.ndarray) -> np.ndarray:
    """The logits after some tokens, one program for any number: what follows changes none."""
    filled = np.zeros((len(tokens), CONFIG.context), np.int32)
    filled[:, : tokens.shape[1]] = tokens
    return np.asarray(forward(*nnx.split(gpt), filled)[:, tokens.shape[1] - 1])


def naive(
    gpt: GPT, tokens: np.ndarray, length: int, pick: Any, after: int = CONFIG.context
) -> np.ndarray:
    """One call a token on all that there is, cut to the context; a longer window to `after`."""
    window, drawn = tokens[:, -CONFIG.context :], []
    for number in range(length):
        window = window if window.shape[1] <= CONFIG.context else window[:, -after:]
        logits = next_logits(gpt, window)
        new = np.array([pick(row, number, logits[row]) for row in range(len(window))], np.int32)
        window = np.concatenate([window, new[:, None]], 1)
        drawn.append(new)
    return np.stack(drawn, 1)


# The largest of logits knows no integrator: two streams and a velocity on a sphere are enough.
MORE = [pytest.param(form, marks=pytest.mark.slow) for form in ("yuriiformer", "strang")]


@pytest.mark.parametrize("form", ["plain", "ngpt-ledger", "staggered", *MORE])
def test_the_largest_is_what_a_plain_loop_finds(form):
    gpt = model(form)
    for time in (1, 5, 6, 9):  # below, at and past the context, so that the window slides
        expected = naive(gpt, prompt(time), 10, lambda row, number, logits: logits.argmax())
        ways: list[Any] = [{"temperature": 0.0}, {"top_k": 1}]
        for how in ways:
            np.testing.assert_array_equal(generate(gpt, prompt(time), length=10, **how), expected)


@pytest.mark.parametrize("scan", [False, True])
def test_a_refilled_window_goes_on_from_its_newest_half(scan):
    gpt = model(scan=scan)
    for time in (1, 4, 6, 9):
        expected = naive(gpt, prompt(time), 17, lambda row, number, logits: logits.argmax(), 3)
        drawn = generate(gpt, prompt(time), length=17, temperature=0.0, past="refill")
        np.testing.assert_array_equal(drawn, expected)
        exact = generate(gpt, prompt(time), length=17, temperature=0.0)
        inside = CONFIG.context + 1 - min(time, CONFIG.context)
        np.testing.assert_array_equal(drawn[:, :inside], exact[:, :inside])
        assert np.any(drawn != exact)


def test_a_context_of_one_token_is_refilled_by_one():
    gpt = GPT(dc.replace(CONFIG, context=1), vl.ledger(), rngs=0)
    one, other = (generate(gpt, prompt(3), length=5, past=past) for past in ("exact", "refill"))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("scan", [False, True])
@pytest.mark.parametrize("top_k", [None, 3, 99])
def test_a_draw_is_a_categorical_of_the_tempered_logits(scan, top_k):
    gpt = model(scan=scan)

    def pick(row, number, logits):
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(5), row), number)
        values, ids = jax.lax.top_k(logits, min(top_k or 7, 7))
        return ids[jax.random.categorical(key, values / 0.7)]

    drawn = generate(gpt, prompt(4), length=9, temperature=0.7, top_k=top_k, seed=5)
    np.testing.assert_array_equal(drawn, naive(gpt, prompt(4), 9, pick))


def test_a_longer_sample_begins_with_the_shorter_one_and_rows_are_their_own():
    gpt, start = model(), prompt(3, rows=4)
    long = generate(gpt, start, length=12, seed=1)
    np.testing.assert_array_equal(long[:, :5], generate(gpt, start, length=5, seed=1))
    np.testing.assert_array_equal(long[:1], generate(gpt, start[:1], length=12, seed=1))
    assert np.any(long != generate(gpt, start, length=12, seed=2))
    same = generate(gpt, np.repeat(start[:1], 8, 0), length=12)
    assert len({tuple(row) for row in same}) > 4


@pytest.mark.parametrize(("temperature", "top_k"), [(1.0, None), (0.5, None), (2.0, 3)])
def test_the_distribution(temperature, top_k):
    gpt, rows = model(), 4000
    logits = next_logits(gpt, np.repeat(prompt(3, 1), 2, 0))[0].astype(np.float64)
    weights = np.exp((logits - logits.max()) / temperature)
    if top_k is not None:
        weights[np.argsort(weights)[:-top_k]] = 0
    expected = rows * weights / weights.sum()
    drawn = generate(
        gpt, np.repeat(prompt(3, 1), rows, 0), length=1, temperature=temperature, top_k=top_k
    )
    counts = np.bincount(drawn[:, 0], minlength=7)
    assert not counts[expected == 0].any()
    there = expected > 0
    assert stats.chisquare(counts[there], expected[there]).pvalue > 1e-3


def test_equal_logits_leave_exactly_top_k():
    gpt = model()
    gpt.head.kernel.set_value(0 * gpt.head.kernel[...])
    drawn = generate(gpt, prompt(2, 300), length=1, top_k=3)
    assert len(np.unique(drawn)) == 3


def test_one_program_inside_the_context_and_one_past_it():
    from velocity_ledger.model import _generate

    programs: Any = (_generate._filled, _generate._slid)

    def compiled():
        return np.array([program._cache_size() for program in programs])

    gpt = model("ledger(mu=0.5, start='vector')")
    before = compiled()
    generate(gpt, prompt(2), length=3)
    np.testing.assert_array_equal(compiled() - before, [1, 0])
    generate(gpt, prompt(1), length=11, seed=2)
    np.testing.assert_array_equal(compiled() - before, [1, 1])
    for time, length, past in itertools.product((2, 5, 6, 9), (1, 7, 20), ("exact", "refill")):
        generate(gpt, prompt(time), length=length, temperature=0.3, seed=9, past=past)
    np.testing.assert_array_equal(compiled() - before, [1, 1])
    generate(gpt, prompt(2, rows=3), length=3)
    np.testing.assert_array_equal(compiled() - before, [2, 1])


def test_every_seed_that_is_allowed_draws():
    drawn = generate(model(), prompt(2), length=4, seed=2**32 - 1)
    assert drawn.shape == (2, 4)


def test_no_length_is_no_token():
    assert generate(model(), prompt(2), length=0).shape == (2, 0)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"tokens": np.zeros((1, 0), np.int32)}, "at least one token"),
        ({"tokens": np.full((1, 2), 7, np.int32)}, "0..6"),
        ({"tokens": np.full((1, 2), -1, np.int32)}, "0..6"),
        ({"length": -1}, "negative"),
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": float("inf")}, "temperature"),
        ({"top_k": 0}, "top_k"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**32}, "seed"),
        ({"past": "half"}, "exact, refill"),
    ],
)
def test_what_cannot_be_sampled_is_refused(changes, word):
    given: Any = {"tokens": prompt(2), "length": 1} | changes
    with pytest.raises(UserError, match=word):
        generate(model(), given.pop("tokens"), **given)
