"""What the README shows runs as it stands."""

import re

import pytest

import snippets
from small_run import SENTENCE, WORDS
from snippets import ROOT

README = ROOT / "README.md"
PYTHON = snippets.python_blocks(README)
COMMANDS = snippets.commands(README)


def test_the_python_blocks_run_in_order(capsys):
    assert len(PYTHON) == 3
    namespace = snippets.run(PYTHON, README.name)
    assert "checkpoint" in capsys.readouterr().out
    assert namespace["Braked"](brake=0.2).brake == 0.2


def test_the_users_integrator_is_the_example_file():
    example = (ROOT / "examples" / "mine.py").read_text(encoding="utf-8")
    body = example.split('"""', 2)[2].strip()
    assert PYTHON[2].strip() == body
    assert len([line for line in body.splitlines() if line.strip()]) <= 20


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_are_understood(command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    snippets.check_command(command)


def test_what_a_run_keeps_is_read_as_shown(tmp_path, monkeypatch):
    from velocity_ledger.cli import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(SENTENCE * 150)
    small = [*WORDS, "--training.steps", "2", "--variants", "plain", "ledger"]
    command = ["compare", "--corpus", "text.txt", "--out", "runs/demo"]
    assert main([*command, *small]) == 0
    namespace = snippets.run(snippets.python_blocks(README, skipped=True), README.name)
    assert namespace["bundle"].view().val_loss.dims == ("variant", "seed", "validation")
    assert str(namespace["model"].integrator) == "ledger"


def test_files_it_points_to_exist():
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", README.read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target
