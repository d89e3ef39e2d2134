import hashlib
import importlib.util
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from velocity_ledger.corpus import _gutenberg, _load, load_corpus

Serve = Callable[..., list[str]]


def load(said: list[str] | None = None, **kwargs) -> object:
    notify = (said if said is not None else []).append
    return load_corpus("shakespeare", allow_fallback=False, notify=notify, **kwargs)


def kept(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir()) if cache.exists() else []


def test_fetched_once_checked_and_kept(cache: Path, book: bytes, serve: Serve, send) -> None:
    requests = serve(send(book))
    said: list[str] = []
    corpus = load_corpus("shakespeare", allow_fallback=False, notify=said.append)
    assert corpus.text.startswith('"O", \'tis naive -- Caesar\'s tab\n"O"')
    assert corpus.text.endswith("tab\n")
    assert re.fullmatch(r"[\n -~]+", corpus.text)
    assert corpus.name == "shakespeare"
    assert corpus.source["kind"] == "gutenberg"
    assert corpus.source["location"] == _gutenberg.URL
    assert corpus.source["raw_sha256"] == hashlib.sha256(book).hexdigest()
    assert corpus.source["sha256"] == hashlib.sha256(corpus.text.encode()).hexdigest()
    assert kept(cache) == ["pg100.txt"]
    assert str(cache / "pg100.txt") in said[0]
    # Another count than on the author's day is told and recorded.
    assert "5,359,444" in said[1] and f"{len(corpus.text):,}" in said[1]
    assert corpus.source["note"] == said[1]

    again = load_corpus("shakespeare", allow_fallback=False, notify=said.append)
    assert again.text == corpus.text
    assert again.source == corpus.source
    assert len(requests) == 1


def test_the_published_count_goes_without_saying(
    book: bytes, serve: Serve, send, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = _gutenberg.body(book)
    monkeypatch.setattr(_gutenberg, "PUBLISHED", (len(text), len(set(text))))
    serve(send(book))
    said: list[str] = []
    corpus = load_corpus("shakespeare", allow_fallback=False, notify=said.append)
    assert corpus.source["note"] is None
    assert len(said) == 1


def test_the_cache_needs_no_network(cache: Path, book: bytes) -> None:
    cache.mkdir()
    (cache / "pg100.txt").write_bytes(book)
    load()


def test_the_cache_folder(
    tmp_path: Path, book: bytes, serve: Serve, send, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pooch

    requests = serve(send(book))
    load(cache=tmp_path / "given" / "deep")
    assert kept(tmp_path / "given" / "deep") == ["pg100.txt"]
    monkeypatch.setenv("VELOCITY_LEDGER_CACHE", "~/kept")
    monkeypatch.setenv("HOME", str(tmp_path))
    load()
    assert kept(tmp_path / "kept") == ["pg100.txt"]
    assert len(requests) == 2
    monkeypatch.delenv("VELOCITY_LEDGER_CACHE")
    assert _gutenberg.cached_file(None).parent == pooch.os_cache("velocity-ledger")


def refuse(said: list[str] | None = None) -> str:
    from velocity_ledger.errors import UserError

    with pytest.raises(UserError) as error:
        load(said)
    assert "--corpus PATH" in str(error.value)
    return str(error.value)


def test_broken_downloads_are_refused_and_not_kept(
    cache: Path, book: bytes, serve: Serve, send
) -> None:
    end = book.index(b"*** END")
    start = book.index(b"*** START")
    for answer, reason in [
        (send(b"<html>Sorry</html>"), "lacks Project Gutenberg's START and END markers"),
        (send(book[:end]), "lacks Project Gutenberg's START and END markers"),
        (send(book[start + 80 :]), "lacks Project Gutenberg's START and END markers"),
        (send(book[end:] + book[:end]), "lacks Project Gutenberg's START and END markers"),
        (send(book[: start + 5000] + book[end:]), "characters, fewer than 30,000"),
        (send(book[:20_000], claim=len(book)), "the connection broke off"),
        (send(book, status=404), "the server answered 404"),
        (send(b"\xff" + book), "not UTF-8 at byte 0"),
    ]:
        serve(answer)
        assert reason in refuse()
        assert kept(cache) == []


def test_a_damaged_cache_is_fetched_anew(cache: Path, book: bytes, serve: Serve, send) -> None:
    cache.mkdir()
    (cache / "pg100.txt").write_bytes(book[:1000])
    requests = serve(send(book))
    load()
    assert len(requests) == 1
    assert (cache / "pg100.txt").read_bytes() == book


def test_a_cache_that_cannot_be_written_is_told(
    tmp_path: Path, book: bytes, serve: Serve, send
) -> None:
    (tmp_path / "file").touch()
    serve(send(book))
    said: list[str] = []
    load(said, cache=tmp_path / "file")
    assert said[0].startswith("cannot keep")


def test_a_full_disk_leaves_nothing(
    cache: Path, book: bytes, serve: Serve, send, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_gutenberg.os, "fsync", full)
    serve(send(book))
    said: list[str] = []
    load(said)
    assert "No space left on device" in said[0]
    assert kept(cache) == []


def test_no_connection_and_no_name() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(_gutenberg.Unavailable, match="no connection"):
        _gutenberg.fetch(f"http://127.0.0.1:{port}/", 5.0)
    assert "no connection" in refuse()


def until_gone() -> None:
    """Wait for the download's thread, which is to end soon after its time."""
    for thread in threading.enumerate():
        if thread.name == "corpus-download":
            thread.join(5)
            assert not thread.is_alive()


@pytest.mark.parametrize("how", ["silent", "stalled", "trickle", "name"])
def test_a_time_limit_over_everything(
    how: str,
    cache: Path,
    book: bytes,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = threading.Event()

    def answer(handler) -> None:
        if how != "silent":
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(book)))
            handler.end_headers()
            handler.wfile.write(book[:20_000])
            handler.wfile.flush()
        # Each byte comes well within any time limit of the socket.
        for byte in range(20_000, len(book)):
            if over.wait(0.05):
                return
            if how == "trickle":
                handler.wfile.write(book[byte : byte + 1])

    serve(answer)
    if how == "name":
        real = socket.getaddrinfo

        def look_up(*args, **kwargs):
            over.wait(20)
            return real(*args, **kwargs)

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(_gutenberg, "SECONDS", 0.4)
    before = time.monotonic()
    message = refuse()
    assert 0.3 < time.monotonic() - before < 5
    assert "no answer within 0.4 s" in message
    over.set()
    until_gone()
    assert kept(cache) == []


def test_a_download_that_comes_too_late_ends_itself(serve: Serve) -> None:
    over = threading.Event()

    def endless(handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not over.wait(0.02):
            handler.wfile.write(b"x" * 2**16)

    serve(endless)
    try:
        with pytest.raises(_gutenberg.Unavailable, match=r"no answer within 0\.3 s"):
            _gutenberg.fetch(_gutenberg.URL, 0.3)
        until_gone()
    finally:
        over.set()


def test_the_limits() -> None:
    # A fresh copy of the module: the fixtures make do with less.
    spec = importlib.util.find_spec(_gutenberg.__name__)
    assert spec is not None and spec.loader is not None
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    assert (fresh.SECONDS, fresh.LEAST) == (10, 3_000_000)
    assert fresh.URL == "https://www.gutenberg.org/cache/epub/100/pg100.txt"


def test_a_hanging_look_up_does_not_hold_up_the_exit(tmp_path: Path) -> None:
    code = (
        "import socket, time; socket.getaddrinfo = lambda *a, **k: time.sleep(60);"
        "from velocity_ledger.corpus import _gutenberg, load_corpus; _gutenberg.SECONDS = 0.3;"
        "load_corpus('shakespeare', allow_fallback=False)"
    )
    before = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path), "VELOCITY_LEDGER_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert time.monotonic() - before < 20
    assert "no answer within 0.3 s" in done.stderr


def test_the_refusal_says_where_to_save_the_text(cache: Path) -> None:
    assert refuse().endswith(f"or save {_load.URL} as {cache / 'pg100.txt'}")
