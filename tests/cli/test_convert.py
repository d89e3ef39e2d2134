"""`convert`: its defaults come from the run, a mistake is one line, and it goes there and back."""

import pathlib
import shlex

import pytest

from small_run import SENTENCE, WORDS
from velocity_ledger.cli import main
from velocity_ledger.cli._parse import parse
from velocity_ledger.cli.verbs._convert import Convert
from velocity_ledger.experiment import open_bundle

TINY = (
    *WORDS,
    *shlex.split("""
        --training.steps 4 --training.val-every 2 --training.warmup 1
        --training.checkpoint-every 2 --training.telemetry-at --sample 0
    """),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("convert")
    (folder / "text.txt").write_text(SENTENCE * 100)
    words = [*TINY, "--corpus", str(folder / "text.txt"), "--variants", "plain", "--seeds", "1"]
    assert main(["compare", *words, "--out", str(folder / "run")]) == 0
    return str(folder / "run")


def test_there_stopped_and_on(run, capsys):
    words = ["convert", run, "plain/1", "--to", "ledger(mu=.5)", "--over", "2", "--sample", "0"]
    out = pathlib.Path(f"{run}-ledger-mu=.5-1")
    assert main([*words, "--stop-after", "2"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == f"bundle: {out}"
    assert told[-2].startswith("plain/1 of ") and "as ledger(mu=0.0) " in told[-2]
    # What it was begun with need not be said again.
    short = ["convert", run, "plain/1", "--to", "ledger(mu=.5)", "--out", str(out), "--resume"]
    assert main(short) == 0
    (cell,) = open_bundle(out).cells
    assert (cell.state, cell.step) == ("finished", 4)
    assert main(["train", "--variant", "ledger(mu=.5)", "--out", str(out), "--resume"]) == 2
    assert "was made by convert" in capsys.readouterr().err


def test_the_training_is_that_of_the_run(run):
    options = parse(["convert", run, "plain/1", "--to", "ledger", "--training.batch", "3"])
    assert isinstance(options, Convert)
    assert (options.training.steps, options.training.batch) == (4, 3)
    assert options.training.val_every == 2 and options.over is None


def test_the_training_is_that_of_the_run_wherever_it_stands(run):
    options = parse(["convert", "--to", "ledger", "--out", "risen", "--over", "2", run, "plain/1"])
    assert isinstance(options, Convert)
    assert (str(options.run), options.cell) == (run, "plain/1")
    assert (options.training.steps, options.training.batch) == (4, 4)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["plain/9", "--to", "ledger"], "has no cell 'plain/9'"),
        (["plain/1", "--to", "ngpt-lite", "--over", "0"], "cannot become ngpt-lite"),
        (["plain/1", "--to", "ledger", "--over", "9"], "arrive after 9 steps"),
        (["plain/1"], "--to"),
        (["--to", "ledger"], "CELL"),
        (["plain/1", "--to", "ledger", "--shape", "square"], "square"),
    ],
    ids=str,
)
def test_mistakes_are_one_line(run, words, says, capsys, tmp_path):
    capsys.readouterr()
    assert main(["convert", run, *words, "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says.lower() in line.lower() and line.startswith("velocity-ledger: error: ")
    assert not (tmp_path / "out").exists()
