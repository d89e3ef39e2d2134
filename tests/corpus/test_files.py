import gzip
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from velocity_ledger.corpus import Corpus, check_length, load_corpus
from velocity_ledger.errors import UserError


def load(path: Path) -> Corpus:
    return load_corpus(str(path), allow_fallback=False)


def refusal(path: Path) -> str:
    with pytest.raises(UserError) as error:
        load(path)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_file_is_taken_as_it_is_but_for_line_ends_and_mark(tmp_path: Path) -> None:
    path = tmp_path / "text"
    raw = b"\xef\xbb\xbfone\ttab\r\ntwo\rthree \xe2\x80\x94 \x00\x0c\x85\n\r\n".replace(
        b"\x85", "\u2028\u0085\ufeff".encode()
    )
    path.write_bytes(raw)
    corpus = load(path)
    assert corpus.text == "one\ttab\ntwo\nthree \u2014 \x00\x0c\u2028\u0085\ufeff\n\n"
    assert corpus.name == "text"
    assert corpus.source == {
        "kind": "file",
        "location": str(path),
        "raw_sha256": hashlib.sha256(raw).hexdigest(),
        "sha256": hashlib.sha256(corpus.text.encode()).hexdigest(),
        "characters": len(corpus.text),
        "distinct": len(set(corpus.text)),
        "note": None,
    }


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt"])
def test_gzip_is_known_by_its_content(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"one\r\n") + gzip.compress(b"two"))
    corpus = load(path)
    assert (corpus.text, corpus.source["kind"]) == ("one\ntwo", "gzip")


def test_a_name_of_gzip_on_a_plain_text(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_text("plain", encoding="utf-8")
    assert load(path).source["kind"] == "file"


def test_a_folder_is_its_files_in_order(tmp_path: Path) -> None:
    for name, content in {
        "b.txt": b"3\r\n",
        "a/z.txt": b"2",
        "a/.hidden": b"x",
        ".git/config": b"x",
        "B.txt": b"\xef\xbb\xbf1",
        "a.txt": gzip.compress(b"0"),
        "empty": b"",
    }.items():
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    corpus = load(tmp_path / "folder")
    # "B.txt" < "a.txt" < "a/z.txt" < "b.txt" by code point.
    assert corpus.text == "1023\n"
    assert (corpus.name, corpus.source["kind"]) == ("folder", "folder")


def test_a_folders_hash_sees_names_and_contents(tmp_path: Path) -> None:
    hashes = set()
    for files in ({"a": "xy", "b": "z"}, {"a": "x", "b": "yz"}, {"a": "xy", "c": "z"}):
        folder = tmp_path / str(len(hashes))
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_text(content)
        hashes.add(load(folder).source["raw_sha256"])
    assert len(hashes) == 3


def test_a_relative_path_is_recorded_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shakespeare").write_text("mine")
    monkeypatch.chdir(tmp_path)
    corpus = load_corpus("./shakespeare", allow_fallback=False)
    assert corpus.text == "mine"
    assert corpus.source["location"] == str(tmp_path / "shakespeare")


@pytest.mark.parametrize(
    ("raw", "offset"), [(b"\xff\xfea\x00", 0), (b"caf\xe9!", 3), (b"ab\xe2\x82", 2)]
)
def test_not_utf8_names_the_byte(tmp_path: Path, raw: bytes, offset: int) -> None:
    path = tmp_path / "latin"
    path.write_bytes(raw)
    assert f"{path} is not UTF-8 text at byte {offset} (0x{raw[offset]:02x})" in refusal(path)
    path.write_bytes(gzip.compress(raw))
    assert f"decompressed byte {offset} " in refusal(path)


def test_not_utf8_in_a_folder_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("fine")
    (tmp_path / "b.png").write_bytes(b"\x89PNG")
    assert f"{tmp_path / 'b.png'} is not UTF-8 text at byte 0" in refusal(tmp_path)


@pytest.mark.parametrize("raw", [b"", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_empty(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "empty"
    path.write_bytes(raw)
    assert f"{path} is empty" in refusal(path)


def test_one_character_alphabet(tmp_path: Path) -> None:
    path = tmp_path / "newlines"
    path.write_bytes(b"\r\n\r\n\r")
    assert r"nothing but the character '\n'" in refusal(path)


def test_too_short_for_a_window(tmp_path: Path) -> None:
    path = tmp_path / "short"
    path.write_text("ab" * 50)
    with pytest.raises(UserError) as error:
        check_length(load(path), 128)
    assert str(error.value) == (
        f"{path} has 100 characters but a context of 128 needs 1,281:"
        " the largest context it allows is 9"
    )


@pytest.mark.parametrize("broken", ["cut", "flipped", "head"])
def test_damaged_gzip(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "a.gz"
    whole = gzip.compress(bytes(range(32, 127)) * 10, mtime=0)
    cut = {
        "cut": whole[:-9],
        "flipped": whole[:-8] + bytes(8),
        "head": whole[:10] + b"\xff" * 20,
    }
    path.write_bytes(cut[broken])
    assert f"{path} is damaged gzip" in refusal(path)


@pytest.mark.parametrize("name", ["missing", "x" * 300, "~nobody-of-that-name/text", "a\0b"])
def test_a_missing_path(tmp_path: Path, name: str) -> None:
    message = refusal(tmp_path / name)
    assert "does not exist" in message
    assert "`shakespeare`" in message


def test_no_name_at_all() -> None:
    with pytest.raises(UserError, match="--corpus needs"):
        load_corpus("", allow_fallback=True)


def test_neither_file_nor_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is not a file or folder" in refusal(tmp_path / "pipe")


def test_a_folder_without_text(tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_text("x")
    (tmp_path / "below").mkdir()
    assert f"{tmp_path} holds no text files" in refusal(tmp_path)


def test_a_folder_link_to_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("ab")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone").symlink_to(tmp_path / "missing")
    assert load(tmp_path).text == "ab"


def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    path.write_text("ab")

    def deny(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as denied:
        denied.setattr(Path, "read_bytes", deny)
        said = refusal(path)
    assert said == f"cannot read {path}: Permission denied"


def test_an_unreadable_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", deny)
    assert refusal(tmp_path) == f"cannot read {tmp_path}: Permission denied"


def test_the_locale_does_not_matter(tmp_path: Path) -> None:
    folder = tmp_path / "na\u00efve"
    folder.mkdir()
    (folder / "\u00e9t\u00e9.txt").write_text("\u201cO\u201d, caf\u00e9", encoding="utf-8")
    (folder / "z").write_bytes(b"\r\n\xe2\x80\x94")
    code = (
        "import sys, locale; from velocity_ledger.corpus import load_corpus;"
        "assert not sys.flags.utf8_mode and locale.getencoding() != 'UTF-8', locale.getencoding();"
        "c = load_corpus(sys.argv[1], allow_fallback=False); print(ascii(c.text), c.source);"
        "load_corpus(sys.argv[1] + '/none', allow_fallback=False)"
    )
    plain = {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        env=os.environ | plain | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
    )
    output = done.stdout.decode("ascii")
    assert ascii("\n\u2014\u201cO\u201d, caf\u00e9") in output
    assert load(folder).source["sha256"] in output
    assert load(folder).source["raw_sha256"] in output
    last = done.stderr.decode("ascii").strip().splitlines()[-1]
    assert last.startswith("velocity_ledger.errors.UserError:") and "does not exist" in last
