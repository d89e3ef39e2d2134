import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

from velocity_ledger.corpus import Vocabulary
from velocity_ledger.errors import UserError

texts = st.text(min_size=1)


@given(texts)
def test_decode_inverts_encode(text: str) -> None:
    vocabulary = Vocabulary.of(text)
    ids = vocabulary.encode(text)
    assert vocabulary.decode(ids) == text
    assert ids.dtype == np.int32
    assert set(ids.tolist()) == set(range(vocabulary.size))


@given(texts)
def test_ids_are_places_among_the_sorted_characters(text: str) -> None:
    characters = sorted(set(text))
    assert Vocabulary.of(text).encode(text).tolist() == [characters.index(c) for c in text]


@given(texts)
def test_json_round_trip(text: str) -> None:
    vocabulary = Vocabulary.of(text)
    assert Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json()))) == vocabulary


def test_encode_nothing() -> None:
    assert Vocabulary("ab").encode("").shape == (0,)
    assert Vocabulary("ab").decode([]) == ""


@pytest.mark.parametrize("unknown", ["A", "\x00", "\U0001f600", "\udcff", "b\u00e9"])
def test_unknown_characters_are_named(unknown: str) -> None:
    with pytest.raises(UserError) as error:
        Vocabulary("abc").encode("ab" + unknown)
    assert f"{unknown[-1]!r} (U+{ord(unknown[-1]):04X})" in str(error.value)
    assert "'a'" not in str(error.value)


def test_many_unknown_characters_are_counted() -> None:
    with pytest.raises(UserError, match=r"'A' \(U\+0041\), .* and 16 more"):
        Vocabulary("abc").encode("ABCDEFGHIJKLMNOPQRSTUVWXYZ")


@pytest.mark.parametrize("ids", [[-1], [3], [0, 1, 2, 3]])
def test_ids_outside_the_vocabulary_are_refused(ids: list[int]) -> None:
    with pytest.raises(ValueError, match="from 0 to 2"):
        Vocabulary("abc").decode(ids)


@pytest.mark.parametrize("characters", ["", "ba", "aab"])
def test_characters_are_sorted_distinct_and_some(characters: str) -> None:
    with pytest.raises(ValueError, match="vocabulary"):
        Vocabulary(characters)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"characters": "abc"},
        {"characters": "abd", "sha256": Vocabulary("abc").sha256},
        {"characters": "cba", "sha256": hashlib.sha256(b"cba").hexdigest()},
    ],
)
def test_a_damaged_vocabulary_is_refused(value: dict[str, str]) -> None:
    with pytest.raises(UserError, match="hash"):
        Vocabulary.from_json(value)


def test_the_hash_is_that_of_the_characters_in_utf8() -> None:
    assert Vocabulary("ab\u00e9").sha256 == hashlib.sha256("ab\u00e9".encode()).hexdigest()


def test_the_same_under_two_hash_seeds() -> None:
    code = (
        "from velocity_ledger.corpus import Corpus;"
        "c = Corpus.from_text('to be, or not to be: that is the question');"
        "print(c.vocabulary.to_json(), c.ids.tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
