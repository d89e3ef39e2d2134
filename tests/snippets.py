"""What Markdown shows as code: Python blocks, and the commands of shell blocks."""

import importlib
import pathlib
import re
import shlex
import sys
from types import ModuleType
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"^```(\w+)( notest)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"^([\w-]+):", re.MULTILINE)


def python_blocks(path: pathlib.Path, skipped: bool = False) -> list[str]:
    """The Python blocks of a page that run as they stand, or those marked `notest`."""
    found = _BLOCK.findall(path.read_text(encoding="utf-8"))
    return [
        body for language, skip, body in found if language == "python" and bool(skip) == skipped
    ]


def commands(path: pathlib.Path) -> list[str]:
    """The lines of a page's shell blocks."""
    found = _BLOCK.findall(path.read_text(encoding="utf-8"))
    return [line for language, _, body in found if language == "sh" for line in body.splitlines()]


def run(blocks: list[str], name: str) -> dict[str, Any]:
    """Run blocks in order, as one program; return its names."""
    namespace: dict[str, Any] = {"__name__": name}
    for block in blocks:
        exec(compile(block, name, "exec"), namespace)
    return namespace


def check_command(command: str) -> None:
    """Assert that a command would be understood: by the parser, by make, or as an example's."""
    program, *words = shlex.split(command)
    if program == "make":
        targets = _TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8"))
        assert words[0] in targets, command
    elif program == "python":
        assert (ROOT / words[0]).is_file(), command
        text = (ROOT / words[0]).read_text(encoding="utf-8")
        for word in words[1:]:
            assert not word.startswith("--") or f'"{word}"' in text, command
    else:
        from velocity_ledger.cli._parse import parse

        assert program == "velocity-ledger", command
        assert parse(words) is not None


def script(name: str) -> ModuleType:
    """A module of the scripts that make the documentation."""
    folder = str(ROOT / "scripts")
    # Behind the package, whose name one of the scripts has too.
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)
