"""The packages by which JAX computes on an accelerator: optional, and of jax's own version."""

import dataclasses as dc
import importlib.metadata
import re

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from velocity_ledger.doctor._check import Check
from velocity_ledger.doctor._declared import bounds, install_extra, installed

_NAME = re.compile(r"jax-\w+-plugin|libtpu")


@dc.dataclass(frozen=True)
class Plugin:
    """One that the installed jax knows."""

    name: str
    version: Version | None
    """The installed one."""
    wanted: SpecifierSet
    """What the installed jax asks for."""


def plugins() -> list[Plugin]:
    """Return those that the installed jax names, installed or not."""
    try:
        words = [Requirement(line) for line in importlib.metadata.requires("jax") or []]
    except importlib.metadata.PackageNotFoundError:
        return []
    wanted = {word.name: word.specifier for word in words if _NAME.fullmatch(word.name)}
    return [Plugin(name, installed(name), specifier) for name, specifier in wanted.items()]


def accelerators() -> list[Check]:
    """Return whether JAX can compute on a card; jax leaves a plugin of another version alone."""
    present = [plugin for plugin in plugins() if plugin.version is not None]
    if not present:
        found = "no plugin for a card is installed (optional; this one is for NVIDIA's)"
        return [Check("accelerator", "ok", found, install_extra("cuda"))]
    return [_against_jax(plugin) for plugin in present]


def _against_jax(plugin: Plugin) -> Check:
    assert plugin.version is not None
    found = f"{plugin.version} (jax asks for {bounds(plugin.wanted)})"
    if plugin.wanted.contains(plugin.version, prereleases=True):
        return Check(plugin.name, "ok", found)
    return Check(
        plugin.name,
        "warn",
        f"{found}: JAX does not use it",
        f'pip install "{plugin.name}{bounds(plugin.wanted)}"',
    )
