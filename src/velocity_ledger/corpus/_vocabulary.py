"""Characters to token ids and back."""

import dataclasses as dc
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int, Int32

from velocity_ledger.errors import UserError

# A message names this many unknown characters at most.
_SHOWN = 10


@dc.dataclass(frozen=True)
class Vocabulary:
    """The distinct characters of a text in code point order; a character's id is its place.

    Equal texts give equal vocabularies whatever Python's hash seed. Raises ValueError where
    `characters` is empty, not sorted, or holds a character twice.
    """

    characters: str

    def __post_init__(self) -> None:
        if not self.characters:
            raise ValueError("a vocabulary needs at least one character")
        if self.characters != "".join(sorted(set(self.characters))):
            raise ValueError("a vocabulary's characters are distinct and sorted by code point")

    @classmethod
    def of(cls, text: str) -> "Vocabulary":
        """The vocabulary of a text that is not empty."""
        return cls("".join(sorted(set(text))))

    @property
    def size(self) -> int:
        """Number of distinct characters."""
        return len(self.characters)

    @property
    def sha256(self) -> str:
        """SHA-256 of the characters, in order, as UTF-8."""
        return hashlib.sha256(self.characters.encode("utf-8", "surrogatepass")).hexdigest()

    def encode(self, text: str) -> Int32[np.ndarray, "characters"]:
        """Return the id of every character of `text`.

        Raises UserError naming the characters that the vocabulary lacks.
        """
        known = _code_points(self.characters)
        codes = _code_points(text)
        ids = np.minimum(np.searchsorted(known, codes), self.size - 1)
        unknown = known[ids] != codes
        if unknown.any():
            missing = [chr(code) for code in np.unique(codes[unknown])]
            shown = ", ".join(f"{c!r} (U+{ord(c):04X})" for c in missing[:_SHOWN])
            more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
            raise UserError(
                f"the vocabulary of {self.size} characters lacks {shown}{more}: leave them out"
            )
        return ids.astype(np.int32)

    def decode(self, ids: Int[np.ndarray, "characters"] | Sequence[int]) -> str:
        """Return the text of a sequence of ids.

        Raises ValueError for an id outside 0..size-1, -1 among them.
        """
        array = np.asarray(ids, dtype=np.int64)
        if array.size and not (array.min() >= 0 and array.max() < self.size):
            raise ValueError(f"token ids run from 0 to {self.size - 1}")
        codes = _code_points(self.characters)[array]
        return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")

    def to_json(self) -> dict[str, str]:
        """Return a value that `json` writes and `from_json` reads."""
        return {"characters": self.characters, "sha256": self.sha256}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Vocabulary":
        """Read what `to_json` returned; raise UserError where it is damaged."""
        try:
            vocabulary = cls(value["characters"])
            if vocabulary.sha256 == value["sha256"]:
                return vocabulary
        except (KeyError, TypeError, ValueError):
            pass
        raise UserError("the saved vocabulary does not match its hash: restore the saved file")


def _code_points(text: str) -> np.ndarray:
    # surrogatepass: a prompt typed under a foreign locale may hold lone surrogates, which are
    # to be reported as unknown characters, not to raise here.
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
