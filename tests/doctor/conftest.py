"""Packages that are not there: metadata to be read, modules to be imported, and absences."""

import importlib.metadata
import pathlib
from collections.abc import Callable, Iterable

import pytest

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put metadata of a package before all others; `None` as version takes it away."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    gone: set[str] = set()
    find = importlib.metadata.Distribution.from_name

    def from_name(name: str) -> importlib.metadata.Distribution:
        if name in gone:
            raise importlib.metadata.PackageNotFoundError(name)
        return find(name)

    monkeypatch.setattr(importlib.metadata.Distribution, "from_name", staticmethod(from_name))

    def put(name: str, version: str | None, more: Iterable[str] = ()) -> None:
        if version is None:
            gone.add(name)
            return
        about = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        about.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *more]
        (about / "METADATA").write_text("\n".join(lines) + "\n")

    return put
