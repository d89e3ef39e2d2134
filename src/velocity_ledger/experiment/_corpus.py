"""The corpus that a bundle records."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from velocity_ledger.corpus import Corpus, corpus_from_record
from velocity_ledger.errors import UserError


def recorded_corpus(
    manifest: Mapping[str, Any], path: str | os.PathLike[str], notify: Callable[[str], None]
) -> Corpus:
    """Return the corpus of the bundle `path` by its manifest, with the vocabulary it had then.

    Raises `UserError` where either has changed.
    """
    corpus = corpus_from_record(manifest["corpus"], notify=notify)
    if corpus.vocabulary.sha256 != manifest["vocabulary"].get("sha256"):
        raise UserError(f"the vocabulary of the corpus is not the one that {path} records")
    return corpus
