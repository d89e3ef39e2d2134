"""What this package asks for, and what is installed."""

import contextlib
import dataclasses as dc
import importlib.metadata
import pathlib
import tomllib
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

NAME = "velocity-ledger"
_PROJECT = pathlib.Path(__file__).resolve().parents[3] / "pyproject.toml"


@dc.dataclass(frozen=True)
class Declared:
    """The requirements that hold for this Python."""

    installed: bool
    """Whether the package itself is, or else runs from its sources."""
    version: str
    python: SpecifierSet
    required: tuple[Requirement, ...]
    optional: tuple[tuple[str, Requirement], ...]
    """With the extra's name."""


def declared() -> Declared:
    """Read them from the installed package, or else from the sources' `pyproject.toml`.

    Raises LookupError where neither is there.
    """
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        about = importlib.metadata.metadata(NAME)
        extras = about.get_all("Provides-Extra") or []
        words = [Requirement(line) for line in importlib.metadata.requires(NAME) or []]
        required = [word for word in words if _applies(word, "")]
        optional = [
            (extra, word)
            for extra in extras
            for word in words
            if word not in required and _applies(word, extra)
        ]
        python = SpecifierSet(_first(about, "Requires-Python"))
        return Declared(True, _first(about, "Version"), python, tuple(required), tuple(optional))
    try:
        project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
    except OSError:
        raise LookupError(f"{NAME} is not installed") from None
    required = [Requirement(line) for line in project["dependencies"]]
    optional = [
        (extra, Requirement(line))
        for extra, lines in project["optional-dependencies"].items()
        for line in lines
    ]
    return Declared(
        False,
        project["version"],
        SpecifierSet(project["requires-python"]),
        tuple(word for word in required if _applies(word, "")),
        tuple((extra, word) for extra, word in optional if _applies(word, extra)),
    )


def installed(name: str) -> Version | None:
    """The version of the package `name`; None where it is missing or says none that can be read."""
    try:
        return Version(_first(importlib.metadata.metadata(name), "Version"))
    # A package half removed says no version.
    except (importlib.metadata.PackageNotFoundError, InvalidVersion):
        return None


def bounds(specifier: SpecifierSet) -> str:
    """`specifier` with the lower bound first."""
    return ",".join(sorted(map(str, specifier), key=lambda bound: (bound[0] == "<", bound)))


def install(*requirements: Requirement) -> str:
    """The command that installs what is asked for."""
    # An installed package says them in an order of its own: jax, on which others stand, goes first.
    ordered = sorted(requirements, key=lambda word: word.name != "jax")
    return f"pip install {' '.join(map(_quoted, ordered))}"


def install_extra(extra: str) -> str:
    """The command that installs what an extra of this package asks for."""
    try:
        words = [word for name, word in declared().optional if name == extra]
    except LookupError:
        words = []
    return install(*words) if words else f'pip install "{NAME}[{extra}]"'


def install_jax() -> str:
    """The command that installs a jax and a flax that fit each other and this package."""
    try:
        pair = [word for word in declared().required if word.name in ("jax", "flax")]
    except LookupError:
        pair = []
    return install(*pair) if pair else f"pip install {NAME}"


def _quoted(word: Requirement) -> str:
    extras = f"[{','.join(sorted(word.extras))}]" if word.extras else ""
    return f'"{word.name}{extras}{bounds(word.specifier)}"'


def _first(about: Any, field: str) -> str:
    return (about.get_all(field) or [""])[0]


def _applies(word: Requirement, extra: str) -> bool:
    return word.marker is None or word.marker.evaluate({"extra": extra})
