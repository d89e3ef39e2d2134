"""A text the user names: a file, gzip, or a folder of them."""

import gzip
import hashlib
import os
import zlib
from pathlib import Path

from velocity_ledger.corpus._corpus import Corpus
from velocity_ledger.errors import UserError

_GZIP = b"\x1f\x8b"


def corpus_from_path(name: str) -> Corpus:
    """Read a text as it is, except that CRLF and CR become LF and a byte order mark goes.

    Gzip is known by its first bytes, whatever the name. A folder is its files joined, folders
    below it included, sorted by relative path with `/` between its parts; names that begin with
    a dot are skipped. raw_sha256 is that of the file, or for a folder of the lines
    "SHA256  RELATIVE PATH" of its files.

    Raises UserError naming the path, and the byte where it is not UTF-8.
    """
    path = Path(os.path.abspath(os.path.expanduser(name)))
    if os.path.isdir(path):
        return _folder(path)
    if not os.path.isfile(path):
        what = "is not a file or folder" if os.path.exists(path) else "does not exist"
        raise UserError(
            f"{path} {what}: --corpus takes `shakespeare`, or a text file, gzip or folder"
        )
    raw = _bytes(path)
    return Corpus.from_text(
        _text(raw, path),
        name=path.name,
        kind="gzip" if raw.startswith(_GZIP) else "file",
        location=str(path),
        raw_sha256=hashlib.sha256(raw).hexdigest(),
    )


def _folder(path: Path) -> Corpus:
    # Names as bytes: their order is that of code points, under any locale.
    found: dict[bytes, Path] = {}
    for folder, folders, files in os.walk(path, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for file in (Path(folder, name) for name in files if not name.startswith(".")):
            if file.is_file():
                found[os.fsencode(file.relative_to(path).as_posix())] = file
    if not found:
        raise UserError(f"{path} holds no text files: name a folder that does, or a file")
    texts: list[str] = []
    digest = hashlib.sha256()
    for relative, file in sorted(found.items()):
        raw = _bytes(file)
        texts.append(_text(raw, file))
        digest.update(hashlib.sha256(raw).hexdigest().encode() + b"  " + relative + b"\n")
    return Corpus.from_text(
        "".join(texts),
        name=path.name or str(path),
        kind="folder",
        location=str(path),
        raw_sha256=digest.hexdigest(),
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or type(error).__name__}") from error


def _refuse(error: OSError) -> None:
    raise UserError(f"cannot read {error.filename}: {error.strerror}") from error


def _text(raw: bytes, path: Path) -> str:
    where = "byte"
    if raw.startswith(_GZIP):
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{path} is damaged gzip ({error}): make or copy it again") from error
        where = "decompressed byte"
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not UTF-8 text at {where} {error.start} (0x{raw[error.start]:02x}):"
            " save it as UTF-8"
        ) from error
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
