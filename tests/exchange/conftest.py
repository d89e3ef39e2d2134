"""Bundles to export and compare, and files to import."""

import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from exchange.published import arrays, record, write_json, write_npz
from experiment.conftest import write_synthetic
from velocity_ledger.exchange import Imported, import_published


@pytest.fixture
def synthetic(tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    """Write a made-up run into a folder of its own."""

    def build(name: str = "run", **given: Any) -> pathlib.Path:
        write_synthetic(tmp_path / name, **given)
        return tmp_path / name

    return build


@pytest.fixture
def bring(tmp_path: pathlib.Path) -> Callable[..., Imported]:
    """Write arrays, a record or both, and import them."""

    def build(content: Any = None, about: Any = None, name: str = "in") -> Imported:
        files = []
        if content is not None:
            files.append(write_npz(tmp_path / f"{name}.npz", content))
        if about is not None:
            files.append(write_json(tmp_path / f"{name}.json", about))
        return import_published(files, tmp_path / name)

    return build


@pytest.fixture(scope="session")
def published(tmp_path_factory) -> pathlib.Path:
    """The bundle made of files like the published ones."""
    folder = tmp_path_factory.mktemp("published")
    files = [write_npz(folder / "a.npz", arrays()), write_json(folder / "a.json", record())]
    return import_published(files, folder / "run").path
