"""The complete works from Project Gutenberg, fetched once."""

import hashlib
import io
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from velocity_ledger.corpus._corpus import Corpus
from velocity_ledger.corpus._normalise import to_ascii
from velocity_ledger.machine import cache_folder

URL = "https://www.gutenberg.org/cache/epub/100/pg100.txt"
SECONDS = 10.0
"""For the whole download, name look-up included."""
LEAST = 3_000_000
"""Characters; a shorter text is not the complete works."""
PUBLISHED = (5_359_444, 80)
"""Characters and distinct characters on the day of the published run."""

_START = re.compile(r"\*\*\* ?START OF TH(?:E|IS) PROJECT GUTENBERG EBOOK[^*]*\*\*\*[^\n]*\n")
_END = re.compile(r"\*\*\* ?END OF TH(?:E|IS) PROJECT GUTENBERG EBOOK")


class Unavailable(Exception):
    """The text cannot be had; the message is a reason that fits into a sentence."""


def cached_file(cache: Path | None) -> Path:
    """Where the download is kept: in `cache`, or in the package's cache folder."""
    return (cache_folder() if cache is None else Path(cache).expanduser()) / "pg100.txt"


def gutenberg(cache: Path | None, notify: Callable[[str], None]) -> Corpus:
    """Read the complete works from the cache, or fetch them into it.

    Raises Unavailable where neither works.
    """
    path = cached_file(cache)
    try:
        raw = path.read_bytes()
        text = body(raw)
    except (OSError, Unavailable):
        # Absent, or damaged by another hand: nothing is kept here before it has been checked.
        raw = fetch(URL, SECONDS)
        text = body(raw)
        try:
            _keep(raw, path)
        except OSError as error:
            notify(f"cannot keep {URL} as {path} ({error.strerror}): the next run fetches it again")
        else:
            notify(f"fetched {URL}, kept as {path}")
    distinct = len(set(text))
    note = None
    if (len(text), distinct) != PUBLISHED:
        note = (
            f"Project Gutenberg's text has {len(text):,} characters, {distinct} distinct;"
            f" the published run read {PUBLISHED[0]:,}, {PUBLISHED[1]} distinct"
        )
        notify(note)
    return Corpus.from_text(
        text,
        name="shakespeare",
        kind="gutenberg",
        location=URL,
        raw_sha256=hashlib.sha256(raw).hexdigest(),
        note=note,
    )


def body(raw: bytes) -> str:
    """Return the text between the START and END markers in ASCII, or raise Unavailable."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unavailable(f"what came is not UTF-8 at byte {error.start}") from error
    start = _START.search(text)
    end = _END.search(text, start.end()) if start else None
    if start is None or end is None:
        raise Unavailable("what came lacks Project Gutenberg's START and END markers")
    text = to_ascii(text[start.end() : end.start()])
    if len(text) < LEAST:
        raise Unavailable(f"what came has {len(text):,} characters, fewer than {LEAST:,}")
    return text


def fetch(url: str, seconds: float) -> bytes:
    """Download `url` within `seconds` in all, or raise Unavailable.

    A thread does it, because no time limit of the socket covers the look-up of a name, or a
    server that sends a byte now and then. The thread holds its bytes in memory: one that comes
    too late leaves no file.
    """
    import pooch

    late = f"no answer within {seconds:g} s"
    target = _Until(time.monotonic() + seconds)
    failures: list[Exception] = []
    answers: list[Any] = []
    downloader = pooch.HTTPDownloader(
        timeout=seconds,
        chunk_size=2**16,
        hooks={"response": lambda response, **kwargs: answers.append(response)},
    )

    def work() -> None:
        try:
            downloader(url, target, None)
        except Exception as error:
            failures.append(error)
        finally:
            for answer in answers:
                answer.close()

    thread = threading.Thread(target=work, name="corpus-download", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise Unavailable(late)
    if failures:
        raise Unavailable(_reason(failures[0], late)) from failures[0]
    return target.getvalue()


class _Until(io.BytesIO):
    """Memory that refuses to be written after `deadline`, so that a late download ends."""

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def write(self, data, /) -> int:  # pyright: ignore[reportMissingParameterType]
        if time.monotonic() > self._deadline:
            raise TimeoutError
        return super().write(data)


def _reason(error: Exception, late: str) -> str:
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the server answered {error.response.status_code}"
    if isinstance(error, TimeoutError | requests.Timeout):
        return late
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke off"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return f"the download failed with {type(error).__name__}"


def _keep(raw: bytes, path: Path) -> None:
    """Write `path` whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(prefix=path.name + ".", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
