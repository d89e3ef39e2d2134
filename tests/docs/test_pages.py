"""What the documentation shows runs as it stands, and what it points to is there."""

import ast
import pathlib
import re

import pytest

import snippets
import velocity_ledger
from small_run import SENTENCE, WORDS
from velocity_ledger.model import BLOCKS

DOCS = snippets.ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
SOURCE = pathlib.Path(velocity_ledger.__file__).parent
WITH_CODE = [page for page in PAGES if snippets.python_blocks(page)]
COMMANDS = [(page, line) for page in PAGES for line in snippets.commands(page)]
NAMED_TEST = re.compile(r"(tests/[\w/]+\.py)(?:::(test_\w+))?")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(#[^)]*)?\)")


def name(value):
    return value.stem if isinstance(value, pathlib.Path) else value


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A folder with a small run in it, as `make demo` leaves one."""
    from velocity_ledger.cli import main

    folder = tmp_path_factory.mktemp("demo")
    (folder / "text.txt").write_text(SENTENCE * 150)
    small = [*WORDS, "--training.steps", "2", "--variants", "plain", "ledger"]
    command = ["compare", "--corpus", str(folder / "text.txt")]
    assert main([*command, "--out", str(folder / "runs" / "demo"), *small]) == 0
    return folder


@pytest.fixture
def own_registry(monkeypatch):
    """What a page registers is forgotten after it."""
    from velocity_ledger.integrators import _registry

    monkeypatch.setattr(_registry, "_builders", dict(_registry._builders))


@pytest.fixture
def brief(monkeypatch):
    """Moving pictures of a few frames: at their full length they are drawn elsewhere."""
    from velocity_ledger.report.motion import _one_step, _path_forming

    monkeypatch.setattr(_one_step, "_MOVING", 150)
    monkeypatch.setattr(_path_forming, "_MOVING", 100)


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_python_blocks_run_in_order(page, demo, own_registry, brief, monkeypatch, capsys):
    monkeypatch.chdir(demo)
    snippets.run(snippets.python_blocks(page), page.name)
    printed = capsys.readouterr().out
    # Where a comment says what is printed, it is.
    for block in snippets.python_blocks(page):
        for said in re.findall(r"^print\(.*\)  # ([\d.]+|compose\(.*\))", block, re.MULTILINE):
            assert said in printed.splitlines(), said


def test_the_pages_with_code_are_found():
    assert len(WITH_CODE) >= 6 and len(COMMANDS) >= 10


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=name)
def test_commands_are_understood(page, command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    snippets.check_command(command)


@pytest.mark.parametrize(
    "wrong", ["make nothing", "python examples/none.py", "velocity-ledger ren"]
)
def test_a_wrong_command_is_told(wrong):
    with pytest.raises((AssertionError, SystemExit, velocity_ledger.UserError)):
        snippets.check_command(wrong)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files(page):
    for target, _ in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).is_file(), target


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_page_names_what_is_private(page):
    text = page.read_text(encoding="utf-8")
    assert not re.findall(r"\b[a-z]+\._[a-z]\w*", text)


def test_the_users_integrator_is_the_example_file():
    example = (snippets.ROOT / "examples" / "mine.py").read_text(encoding="utf-8")
    block = snippets.python_blocks(DOCS / "adding-an-integrator.md")[0]
    assert block.strip() == example.split('"""', 2)[2].strip()


def test_every_room_has_its_page():
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    rooms |= {path.stem for path in SOURCE.glob("[a-z]*.py")}
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md")}
    assert set(pages) - {"index"} == rooms
    assert all(f"<!-- api: {room} -->" in pages[room] for room in rooms)


def test_every_page_is_in_the_navigation():
    navigation = (snippets.ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    named = re.findall(r": (\S+\.md)$", navigation, re.MULTILINE)
    assert sorted(named) == sorted(str(page.relative_to(DOCS)) for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_named_tests_are_there(page):
    for file, test in NAMED_TEST.findall(page.read_text(encoding="utf-8")):
        text = (snippets.ROOT / file).read_text(encoding="utf-8")
        assert not test or f"\ndef {test}(" in text, f"{file}::{test}"


def test_a_warning_ends_the_build():
    """MkDocs counts no warning that it was told not to give: `--quiet` undoes `--strict`."""
    (build,) = re.findall("mkdocs build.*", (snippets.ROOT / "Makefile").read_text())
    assert build == "mkdocs build --strict"


def test_every_setting_of_the_blocks_has_its_section():
    text = (DOCS / "blocks.md").read_text(encoding="utf-8")
    settings = {*BLOCKS["gpt"], "kv_heads"}
    assert set(re.findall(r"^### (\w+)$", text, re.MULTILINE)) == settings


def test_every_example_is_described():
    text = (DOCS / "examples.md").read_text(encoding="utf-8")
    for path in (snippets.ROOT / "examples").glob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"))
        assert f"examples/{path.name}" in text
