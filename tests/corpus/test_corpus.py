import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from velocity_ledger.corpus import Corpus, check_length, windows
from velocity_ledger.errors import UserError


@given(st.text(min_size=2).filter(lambda text: len(set(text)) > 1))
def test_the_splits_are_the_text_nine_to_one(text: str) -> None:
    corpus = Corpus.from_text(text)
    assert len(corpus.train) == len(text) * 9 // 10
    np.testing.assert_array_equal(np.concatenate([corpus.train, corpus.val]), corpus.ids)
    assert corpus.vocabulary.decode(corpus.ids) == text
    json.dumps(corpus.source, allow_nan=False)


def test_one_character_of_one_kind() -> None:
    for text in ("a", "aaaa"):
        with pytest.raises(UserError, match="nothing but the character 'a'"):
            Corpus.from_text(text)
    with pytest.raises(UserError, match="empty"):
        Corpus.from_text("")


def test_ids_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Corpus.from_text("ab").train[...] = 1


def test_a_corpus_prints_short() -> None:
    assert len(repr(Corpus.from_text("ab" * 10_000))) < 500


@given(st.integers(2, 500), st.integers(1, 60))
def test_a_length_is_accepted_exactly_where_both_splits_hold_a_window(length, context) -> None:
    corpus = Corpus.from_text("ab" * (length // 2) + "a" * (length % 2))
    largest = min(len(corpus.train), len(corpus.val)) - 1

    def fits(wanted: int) -> bool:
        try:
            for split in (corpus.train, corpus.val):
                windows(split, batch=1, context=wanted, seed=0, step=0)
        except UserError:
            return False
        return True

    if fits(context):
        check_length(corpus, context)
        return
    with pytest.raises(UserError) as error:
        check_length(corpus, context)
    message = str(error.value)
    if largest >= 1:
        assert message.endswith(f"largest context it allows is {largest}")
        check_length(corpus, largest)
    else:
        assert "too few for any context" in message
    # The length asked for is the least that does.
    check_length(Corpus.from_text("ab" * (5 * context) + "a"), context)
    with pytest.raises(UserError):
        check_length(Corpus.from_text("ab" * (5 * context)), context)
