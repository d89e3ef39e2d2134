"""What the README shows runs as it stands."""

import pathlib
import re
import shlex

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)( notest)?\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PYTHON = [body for language, skip, body in BLOCKS if language == "python" and not skip]
COMMANDS = [
    line for language, _, body in BLOCKS if language == "sh" for line in body.strip().splitlines()
]


def test_the_python_blocks_run_in_order(capsys):
    assert len(PYTHON) == 3
    namespace = {}
    for block in PYTHON:
        exec(compile(block, "README.md", "exec"), namespace)
    assert "checkpoint" in capsys.readouterr().out
    assert namespace["Braked"](brake=0.2).brake == 0.2


def test_the_users_integrator_is_the_example_file():
    example = (ROOT / "examples" / "mine.py").read_text(encoding="utf-8")
    body = example.split('"""', 2)[2].strip()
    assert PYTHON[2].strip() == body
    assert len([line for line in body.splitlines() if line.strip()]) <= 20


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_are_understood(command, monkeypatch, tmp_path):
    from velocity_ledger.cli._parse import parse

    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(command)
    assert program == "velocity-ledger"
    assert parse(arguments) is not None


def test_what_a_run_keeps_is_read_as_shown(tmp_path, monkeypatch):
    from velocity_ledger.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("to be or not to be, that is the question\n" * 60)
    small = ["--training.steps", "2", "--model.layers", "1", "--variants", "plain", "ledger"]
    command = ["compare", "--preset", "smoke", "--corpus", "text.txt", "--out", "runs/demo"]
    assert main([*command, *small]) == 0
    (block,) = [body for language, skip, body in BLOCKS if language == "python" and skip]
    namespace = {}
    exec(compile(block, "README.md", "exec"), namespace)
    assert namespace["bundle"].view().val_loss.dims == ("variant", "seed", "validation")
    assert str(namespace["model"].integrator) == "ledger"


def test_files_it_points_to_exist():
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", README):
        assert (ROOT / target).exists(), target
