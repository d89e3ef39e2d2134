"""Whether jax, jaxlib and flax fit each other, told from their versions alone."""

import importlib.metadata
import sys

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from velocity_ledger.doctor._check import Check
from velocity_ledger.doctor._declared import install, install_jax, installed

# A flax, the jax that it imports with, and the Python that it needs. An older flax does not
# declare that jax 0.11 took away what it imports: github.com/google/flax/issues/5596.
_TRIANGLE = (
    (SpecifierSet(">=0.12.9"), SpecifierSet(">=0.11.1"), SpecifierSet(">=3.12")),
    (SpecifierSet("<0.12.9"), SpecifierSet("<0.11"), SpecifierSet("")),
)


def fit() -> list[Check]:
    """Return one check: the three versions named, and what is wrong between them."""
    versions = {name: installed(name) for name in ("jax", "jaxlib", "flax")}
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        found = f"{' and '.join(missing)} {verb} not installed"
        return [Check("jax and flax", "fail", found, install_jax())]
    present = {name: version for name, version in versions.items() if version is not None}
    wrong, mend = _wrong(present)
    if wrong:
        return [Check("jax and flax", "fail", wrong, mend)]
    found = f"flax {present['flax']} fits jax {present['jax']} and jaxlib {present['jaxlib']}"
    return [Check("jax and flax", "ok", found)]


def _wrong(versions: dict[str, Version]) -> tuple[str | None, str | None]:
    flax, jax = versions["flax"], versions["jax"]
    python = "{}.{}.{}".format(*sys.version_info[:3])
    for flaxes, jaxes, pythons in _TRIANGLE:
        if not flaxes.contains(flax, prereleases=True):
            continue
        if not jaxes.contains(jax, prereleases=True):
            return (
                f"flax {flax} cannot be imported with jax {jax}: it needs jax{jaxes}",
                install_jax(),
            )
        if not pythons.contains(python, prereleases=True):
            return f"flax {flax} needs Python {pythons}, this is {python}", install_jax()
    for owner, other in (("flax", "jax"), ("jax", "jaxlib")):
        for word in _asks(owner, other):
            if not word.specifier.contains(versions[other], prereleases=True):
                found = f"{owner} {versions[owner]} asks for {other}{word.specifier}"
                mend = install_jax() if other == "jax" else install(word)
                return f"{found}, installed is {other} {versions[other]}", mend
    return None, None


def _asks(owner: str, other: str) -> list[Requirement]:
    words = [Requirement(line) for line in importlib.metadata.requires(owner) or []]
    return [
        word
        for word in words
        if word.name == other and (word.marker is None or word.marker.evaluate({"extra": ""}))
    ]
