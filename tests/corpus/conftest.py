"""No test here reaches beyond this machine, or the user's own cache."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from velocity_ledger.corpus import _gutenberg

Answer = Callable[[BaseHTTPRequestHandler], None]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, no network, and no need of megabytes."""
    look_up = socket.getaddrinfo

    def local_only(host, *args, **kwargs):
        if host != "127.0.0.1":
            raise socket.gaierror("no name resolution in tests")
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", local_only)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setattr(_gutenberg, "LEAST", 30_000)
    folder = tmp_path / "cache"
    monkeypatch.setenv("VELOCITY_LEDGER_CACHE", str(folder))
    return folder


@pytest.fixture
def book() -> bytes:
    """A download like Project Gutenberg's, just long enough."""
    line = "\u201cO\u201d, \u2018tis na\u00efve \u2014 C\u00e6sar\u2019s\ttab\r\n"
    body = line * (_gutenberg.LEAST // len("\"O\", 'tis naive -- Caesar's tab\n") + 1)
    text = (
        "\ufeffThe Project Gutenberg eBook of The Complete Works\r\n"
        "*** START OF THE PROJECT GUTENBERG EBOOK THE COMPLETE WORKS ***\r\n"
        f"{body}"
        "*** END OF THE PROJECT GUTENBERG EBOOK THE COMPLETE WORKS ***\r\nLicence\r\n"
    )
    return text.encode()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer], list[str]]]:
    """Start a server that answers as told in place of Project Gutenberg; return its requests."""
    servers: list[ThreadingHTTPServer] = []

    def start(answer: Answer) -> list[str]:
        requests: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requests.append(self.path)
                with contextlib.suppress(ConnectionError):
                    answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setattr(_gutenberg, "URL", f"http://127.0.0.1:{server.server_port}/pg100.txt")
        return requests

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def send() -> Callable[..., Answer]:
    """Make an answer of `body`; `claim` is a length other than its own."""

    def make(body: bytes, status: int = 200, claim: int | None = None) -> Answer:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            handler.send_header("Content-Length", str(len(body) if claim is None else claim))
            handler.end_headers()
            handler.wfile.write(body)

        return answer

    return make
