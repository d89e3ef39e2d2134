import dataclasses as dc
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from training.tiny import CONFIG, Tiny, make_data
from velocity_ledger.corpus import windows
from velocity_ledger.errors import UserError
from velocity_ledger.integrators import parse
from velocity_ledger.model import GPT, ModelConfig
from velocity_ledger.training import TrainingConfig, evaluate, validation_batches
from velocity_ledger.training._validation import FIRST_SEED

WHOLE = dc.replace(CONFIG, val_batches=0)
VAL = make_data().val


def brute_force(model: Tiny, ids: np.ndarray, context: int) -> float:
    """One window after another, one token after another, in float64."""
    losses = []
    for start in range(0, len(ids) - 1, context):
        window = ids[start : start + context + 1]
        logits = np.asarray(model(np.asarray(window[None, :-1])), np.float64)[0]
        for row, target in zip(logits, window[1:], strict=True):
            losses.append(np.log(np.sum(np.exp(row - row.max()))) + row.max() - row[target])
    assert len(losses) == len(ids) - 1
    return float(np.mean(losses))


def test_fixed_batches_are_the_published_seeds_and_know_no_training_seed() -> None:
    batches = validation_batches(VAL, CONFIG, 8)
    for i, tokens in enumerate(batches.tokens):
        wanted = windows(VAL, batch=4, context=8, seed=FIRST_SEED + i, step=0)
        np.testing.assert_array_equal(tokens, wanted)
    assert FIRST_SEED == 900_001
    assert batches.predictions == 2 * 4 * 8
    assert TrainingConfig().val_batches * TrainingConfig().batch * 128 == 32_768


@settings(max_examples=200)
@given(length=st.integers(2, 60), context=st.integers(1, 12), batch=st.integers(1, 9))
def test_whole_split_predicts_every_token_but_the_first_once(
    length: int, context: int, batch: int
) -> None:
    ids = np.arange(1, length + 1, dtype=np.int32)
    batches = validation_batches(ids, dc.replace(WHOLE, batch=batch), context)
    targets = batches.tokens[..., 1:][batches.counted]
    sources = batches.tokens[..., :-1][batches.counted]
    np.testing.assert_array_equal(np.sort(targets), ids[1:])
    np.testing.assert_array_equal(targets, sources + 1)
    assert batches.predictions == length - 1
    assert batches.tokens.shape[1] <= batch


@pytest.mark.parametrize("length", [len(VAL), 100, 33, 10, 3])
def test_evaluate_weights_every_token_alike(length: int) -> None:
    model, ids = Tiny(), VAL[:length]
    batches = validation_batches(ids, dc.replace(WHOLE, batch=5), 8)
    assert evaluate(model, batches) == pytest.approx(brute_force(model, ids, 8), abs=1e-6)


def test_a_mean_of_batch_means_would_differ() -> None:
    # Otherwise the test above could not tell the two apart.
    model, ids = Tiny(), VAL[:100]
    parts = [ids[:41], ids[40:81], ids[80:]]
    biased = np.mean([brute_force(model, part, 8) for part in parts])
    assert abs(biased - brute_force(model, ids, 8)) > 1e-4


def test_evaluate_twice_is_the_same_and_leaves_no_mode_behind() -> None:
    model = Tiny()
    batches = validation_batches(VAL, CONFIG, 8)
    first = evaluate(model, batches)
    with pytest.raises(TypeError):
        model()  # pyright: ignore[reportCallIssue]
    model(np.zeros((1, 8), np.int32), key=jax.random.key(0))
    assert evaluate(model, batches) == first


def test_evaluate_with_other_parameters() -> None:
    from flax import nnx

    a, b = Tiny(0), Tiny(1)
    batches = validation_batches(VAL, CONFIG, 8)
    assert evaluate(a, batches, nnx.state(b, nnx.Param)) == evaluate(b, batches)
    assert evaluate(a, batches) != evaluate(b, batches)


@pytest.mark.parametrize(("config", "length"), [(CONFIG, 8), (WHOLE, 1), (WHOLE, 0)])
def test_too_short_a_split_is_refused(config: TrainingConfig, length: int) -> None:
    with pytest.raises(UserError, match=f"holds {length} tokens"):
        validation_batches(VAL[:length], config, 8)


@pytest.mark.parametrize("variant", ["plain", "ngpt-ledger"])
@pytest.mark.parametrize("size", [4, 3, 1])
def test_pieces_change_nothing_but_memory(variant: str, size: int) -> None:
    config = ModelConfig(layers=2, width=16, heads=2, hidden=24, context=32, vocabulary=7)
    model = GPT(config, parse(variant), rngs=0)
    batches = validation_batches(VAL, dc.replace(CONFIG, batch=8, microbatch=size), 32)
    assert batches.at_a_time == size
    whole = evaluate(model, dc.replace(batches, at_a_time=None))
    assert evaluate(model, batches) == pytest.approx(whole, abs=1e-7)


def test_at_most_a_piece_is_worked_on_at_a_time() -> None:
    seen = []

    class Counting(Tiny):
        def __call__(self, tokens: Any, **keywords: Any) -> Any:
            seen.append(tokens.shape[0])
            return super().__call__(tokens, **keywords)

    config = dc.replace(CONFIG, batch=8, microbatch=3)
    evaluate(Counting(), validation_batches(VAL, config, 8))
    assert seen == [3, 2]
