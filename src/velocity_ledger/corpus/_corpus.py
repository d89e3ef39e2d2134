"""A text with all that a run needs to know about it."""

import dataclasses as dc
import hashlib
from typing import Any

import numpy as np
from jaxtyping import Int32

from velocity_ledger.corpus._vocabulary import Vocabulary
from velocity_ledger.errors import UserError


@dc.dataclass(frozen=True, eq=False)
class Corpus:
    """A text, its vocabulary and where it came from."""

    name: str
    text: str = dc.field(repr=False)
    vocabulary: Vocabulary = dc.field(repr=False)
    ids: Int32[np.ndarray, "characters"] = dc.field(repr=False)
    """The whole text as token ids; read-only."""
    source: dict[str, Any]
    """What JSON can hold: kind, location, raw_sha256 (the bytes as found), sha256 (the text as
    UTF-8), characters, distinct, note (a sentence, or None)."""

    @classmethod
    def from_text(
        cls,
        text: str,
        *,
        name: str = "text",
        kind: str = "text",
        location: str = "",
        raw_sha256: str | None = None,
        note: str | None = None,
    ) -> "Corpus":
        """Wrap a text as it is.

        Raises UserError where it is empty or has but one distinct character.
        """
        where = location or name
        if not text:
            raise UserError(f"{where} is empty: name a text with --corpus PATH")
        vocabulary = Vocabulary.of(text)
        if vocabulary.size == 1:
            raise UserError(
                f"{where} holds nothing but the character {text[0]!a}:"
                " a text needs at least two distinct characters"
            )
        ids = vocabulary.encode(text)
        ids.flags.writeable = False
        sha256 = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        source = {
            "kind": kind,
            "location": location,
            "raw_sha256": raw_sha256 or sha256,
            "sha256": sha256,
            "characters": len(text),
            "distinct": vocabulary.size,
            "note": note,
        }
        return cls(name, text, vocabulary, ids, source)

    @property
    def train(self) -> Int32[np.ndarray, "train"]:
        """The first nine tenths of the ids, rounded down."""
        return self.ids[: len(self.ids) * 9 // 10]

    @property
    def val(self) -> Int32[np.ndarray, "val"]:
        """The rest of the ids."""
        return self.ids[len(self.ids) * 9 // 10 :]


def check_length(corpus: Corpus, context: int) -> None:
    """Raise UserError where either split is shorter than one window of `context + 1`."""
    largest = min(len(corpus.train), len(corpus.val)) - 1
    if context <= largest:
        return
    have = f"{corpus.source['location'] or corpus.name} has {len(corpus.ids):,} characters"
    need = f"a context of {context} needs {10 * context + 1:,}"
    if largest < 1:
        raise UserError(f"{have}, too few for any context: {need}")
    raise UserError(f"{have} but {need}: the largest context it allows is {largest}")
