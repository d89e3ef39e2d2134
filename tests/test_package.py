"""What is shipped, what it says of itself, and that the rooms are entered in one direction."""

import ast
import importlib.metadata
import pathlib
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest

import velocity_ledger

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "velocity_ledger"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Each room may import from the floors below its own. Rooms of one floor do not know each other.
FLOORS = (
    ("_lazy", "errors"),
    ("_files", "_table"),
    ("machine",),
    ("integrators",),
    ("record",),
    ("stream",),
    ("model",),
    ("contract",),
    ("corpus",),
    ("telemetry",),
    ("training",),
    ("experiment",),
    ("exchange",),
    ("report",),
    ("doctor",),
    ("cli",),
    ("__main__",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def modules():
    return sorted(SOURCE.rglob("*.py"))


def room_of(path: pathlib.Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: pathlib.Path):
    """Modules and names of ours that a module imports, anywhere in it, as parts, with the node."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            head, *parts = name.split(".")
            if head == "velocity_ledger" and parts:
                yield parts, node


def imports(path: pathlib.Path):
    """Rooms of ours that a module imports, anywhere in it, with the line."""
    for (room, *_), node in imported(path):
        yield room, node.lineno


def foreign_privates(path: pathlib.Path):
    """Other rooms' private modules and names that a module imports, with the line.

    Two kinds are allowed: a `_config`, which is imported past its room's door so that `--help`
    is quick, and, for the same reason, what the command line imports inside a function.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [
        n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    inside = {
        inner.lineno for f in functions for inner in ast.walk(f) if isinstance(inner, ast.stmt)
    }
    for (other, *rest), node in imported(path):
        private = [part for part in rest if part.startswith("_")]
        lazy = room_of(path) == "cli" and node.lineno in inside
        if other != room_of(path) and private and private != ["_config"] and not lazy:
            yield ".".join([other, *rest]), node.lineno


def tracked() -> list[pathlib.Path]:
    """The project's files: those that git knows or would take, or all where there is no git."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        # Other folders with a dot are environments and caches.
        mine = [path for path in ROOT.iterdir() if path.name in (".ci", ".gitignore")]
        mine += [path for path in ROOT.iterdir() if path.name[0] != "." and path.name != "runs"]
        below = [path for folder in mine for path in (folder, *folder.rglob("*"))]
        return [path for path in below if path.is_file() and path.suffix != ".pyc"]
    return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_every_room_has_its_floor():
    rooms = {room_of(path) for path in modules()} - {"__init__"}
    assert rooms == set(FLOOR)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_rooms_import_only_from_rooms_below(path):
    room = room_of(path)
    if room == "__init__":
        return  # The door to all of them.
    for other, line in imports(path):
        allowed = other == room or FLOOR[other] < FLOOR[room]
        assert allowed, f"{room} imports {other} in line {line}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_room_keeps_its_private_modules(path):
    assert list(foreign_privates(path)) == []


@pytest.mark.parametrize(
    ("room", "line", "found"),
    [
        ("report", "from velocity_ledger.experiment._files import try_folder", 1),
        ("report", "from velocity_ledger.experiment import _json", 1),
        ("report", "import velocity_ledger.experiment._json", 1),
        ("report", "def f():\n    from velocity_ledger.experiment._files import sha256", 1),
        ("report", "from velocity_ledger._files import try_folder", 0),
        ("report", "from velocity_ledger.report._data import Curve", 0),
        ("report", "from velocity_ledger.experiment._config import PRESETS", 0),
        ("cli", "from velocity_ledger.experiment._manifest import now", 1),
        ("cli", "def f():\n    from velocity_ledger.experiment._manifest import now", 0),
    ],
)
def test_foreign_private_modules_are_found(room, line, found, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    (tmp_path / room).mkdir()
    path = tmp_path / room / "_module.py"
    path.write_text(line)
    assert len(list(foreign_privates(path))) == found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_annotation_is_a_text(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    futures = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    assert not futures


def test_citation_and_changelog_know_the_version():
    version = PROJECT["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^version: {re.escape(version)}$", citation, re.MULTILINE)
    assert "A Velocity Ledger for Transformers, in JAX/Flax NNX" in citation
    assert "Unreleased" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_licence_is_the_whole_one():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text and "END OF TERMS AND CONDITIONS" in text


def test_an_installed_package_is_this_version():
    try:
        installed = importlib.metadata.version("velocity-ledger")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the tests run from the sources")
    assert installed == PROJECT["version"] == velocity_ledger.__version__


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the built wheel and source distribution."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    words = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    return folder


def test_the_wheel_holds_the_package_and_nothing_else(built):
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        (entry,) = [name for name in names if name.endswith("entry_points.txt")]
        assert "velocity-ledger = velocity_ledger.cli:run" in wheel.read(entry).decode()
        (about,) = [name for name in names if name.endswith("METADATA")]
        metadata = wheel.read(about).decode()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"velocity_ledger"}
    assert "velocity_ledger/py.typed" in names
    shipped = {name for name in names if ".dist-info/" not in name}
    # Modules, and what they read: the page's template, style and program.
    ours = [p for p in SOURCE.rglob("*") if p.is_file() and p.suffix != ".pyc"]
    assert shipped == {f"velocity_ledger/{p.relative_to(SOURCE).as_posix()}" for p in ours}
    assert "velocity_ledger/report/page/assets/page.html" in shipped
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: <3.14,>=3.11" in metadata


def test_the_source_distribution_can_be_tested(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "Makefile", "tests/test_package.py"} <= names
    assert {"src/velocity_ledger/py.typed", "scripts/find-python", "CITATION.cff"} <= names
    assert not any(name.startswith(("runs/", ".venv", ".git/")) for name in names)


def test_no_file_names_a_path_of_somebody_s_machine():
    # Spelled in parts, or this file would be found.
    places = ("/" + "home/", "/" + "root/", "/" + "Users/", "/" + "work/", "C:" + "\\Users")
    found = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # A picture.
        found += [f"{path.relative_to(ROOT)}: {p}" for p in places if p in text]
    assert found == []
