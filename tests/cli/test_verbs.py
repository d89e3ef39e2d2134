"""The verbs end to end, on the smallest model there is."""

import contextlib
import importlib.util
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from small_run import SENTENCE, WORDS
from velocity_ledger.cli import _main, main
from velocity_ledger.cli._parse import parse
from velocity_ledger.cli.verbs import Compare, Describe, _tracking
from velocity_ledger.experiment import open_bundle

TINY = (
    *WORDS,
    *shlex.split("""
        --training.steps 4 --training.val-every 2 --training.warmup 1
        --training.checkpoint-every 2 --training.telemetry-at 0 1 --sample 0
    """),
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    path.write_text(SENTENCE * 100, encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory, corpus):
    """A finished run of two variants and what `compare` printed."""
    out = tmp_path_factory.mktemp("runs") / "tiny"
    words = ["compare", *TINY, "--variants", "plain", "ledger(mu=.5)", "--corpus", corpus]
    words += ["--out", str(out)]
    if importlib.util.find_spec("tensorboardX"):
        words += ["--track", "tensorboard"]
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        status = main(words)
    assert status == 0, stderr.getvalue()
    return out, words, SimpleNamespace(stdout=stdout.getvalue(), stderr=stderr.getvalue())


def one_line(capsys) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("velocity-ledger: error: ")
    return line


def test_compare_ends_with_the_table_and_the_bundle(run):
    out, words, done = run
    *text, last = done.stdout.splitlines()
    assert last == f"bundle: {out}"
    assert any(line.startswith("ledger(mu=0.5)") for line in text)
    assert "Traceback" not in done.stderr
    bundle = open_bundle(out)
    assert [cell.state for cell in bundle.cells] == ["finished"] * 2
    assert bundle.manifest["command"] == ["velocity-ledger", *words]
    events = list(out.glob("cells/*/0/tensorboard/events*"))
    assert bool(events) == ("--track" in words)


def test_a_run_that_exists_is_not_begun_again(run, capsys):
    _, words, _ = run
    assert main(words) == 2
    assert "--resume" in one_line(capsys)


def test_a_resume_without_a_preset_takes_the_recorded_configuration(run, capsys):
    out, _, _ = run
    options = parse(["compare", "--out", str(out), "--resume"])
    assert isinstance(options, Compare)
    assert options.experiment() == open_bundle(out).config
    assert main(["compare", "--out", str(out), "--resume"]) == 0
    assert capsys.readouterr().out.endswith(f"bundle: {out}\n")


def test_a_resume_with_another_configuration_names_the_field(run, capsys):
    out, words, _ = run
    assert main([*words, "--resume", "--training.clip", "3"]) == 2
    assert "training.clip" in one_line(capsys)
    # A preset that is named is meant.
    assert main(["compare", "--preset", "quick", "--out", str(out), "--resume"]) == 2
    one_line(capsys)


def test_render_prints_what_it_wrote(run, capsys, tmp_path):
    out, _, _ = run
    assert main(["render", str(out), "--out", str(tmp_path), "--formats", "svg"]) == 0
    names = capsys.readouterr().out.split()
    assert sorted(names) == sorted(str(path) for path in tmp_path.iterdir())
    assert len(names) == 4


def test_train_is_one_cell_and_can_be_stopped(corpus, tmp_path, capsys):
    out = tmp_path / "one"
    words = ["train", "--variant", "ledger", "--seed", "3", *TINY, "--corpus", corpus]
    assert main([*words, "--out", str(out), "--stop-after", "2"]) == 0
    (cell,) = open_bundle(out).cells
    assert (cell.name, cell.state, cell.step) == ("ledger/3", "stopped", 2)
    capsys.readouterr()
    assert main(["train", "--out", str(out), "--resume"]) == 0
    (cell,) = open_bundle(out).cells
    assert (cell.name, cell.state, cell.step) == ("ledger/3", "finished", 4)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--variants", "plain", "ledgr"], "ledgr"),
        (["--variants", "ledger(nu=.5)"], "nu"),
        (["--variants", "./nowhere.py:Mine"], "nowhere.py"),
        (["--corpus", "./nowhere.txt"], "nowhere.txt"),
        (["--seeds", "1", "1"], "seed named twice"),
        (["--seeds", "-1"], "seed"),
        (["--variants"], "variant"),
        (["--stop-after", "-1"], "stop_after must not be negative"),
        (["--resume"], "no run to resume"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing_behind(words, says, corpus, tmp_path, capsys):
    out = tmp_path / "run"
    given = [] if "--corpus" in words else ["--corpus", corpus]
    assert main(["compare", *TINY, *given, *words, "--out", str(out)]) == 2
    assert says in one_line(capsys)
    assert not (out / "manifest.json").exists()


@pytest.mark.parametrize("words", [["--out", ""], ["--out="]])
@pytest.mark.parametrize("verb", [["compare"], ["render", "run"]])
def test_an_empty_folder_name_is_refused(verb, words, capsys):
    assert main([*verb, *words]) == 2
    assert "--out names no folder" in one_line(capsys)


def test_a_tracker_that_is_not_installed_is_said_before_anything_begins(
    monkeypatch, corpus, tmp_path, capsys
):
    monkeypatch.setitem(_tracking._PACKAGES, "wandb", "no_such_package")
    words = ["compare", *TINY, "--corpus", corpus, "--out", str(tmp_path / "run")]
    assert main([*words, "--track", "wandb"]) == 2
    assert "--track wandb needs a package: pip install no_such_package" in one_line(capsys)
    assert not (tmp_path / "run").exists()


def test_seeds_can_be_stacked(corpus, tmp_path, capsys):
    out = tmp_path / "run"
    words = ["compare", *TINY, "--variants", "plain", "--seeds", "0", "1", "--stack-seeds"]
    assert main([*words, "--corpus", corpus, "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert said.out.endswith(f"bundle: {out}\n") and "\x1b" not in said.err
    bundle = open_bundle(out)
    assert [(cell.name, cell.state) for cell in bundle.cells] == [
        ("plain/0", "finished"),
        ("plain/1", "finished"),
    ]
    assert bundle.manifest["sessions"][0]["stack_seeds"] is True


def test_stacked_seeds_are_not_tracked_where_there_is_one_run_at_a_time(
    monkeypatch, corpus, tmp_path, capsys
):
    monkeypatch.setitem(_tracking._PACKAGES, "wandb", "json")
    words = ["compare", *TINY, "--corpus", corpus, "--out", str(tmp_path / "run")]
    assert main([*words, "--track", "wandb", "--stack-seeds"]) == 2
    assert "leave out --stack-seeds, or track with tensorboard" in one_line(capsys)
    assert not (tmp_path / "run").exists()


def test_describe_as_a_table_and_as_strict_json(capsys):
    assert main(["describe", "--preset", "paper"]) == 0
    table = capsys.readouterr().out
    assert re.search(r"^plain +2,724,864 +0 ", table, re.MULTILINE)
    assert re.search(r"^ngpt-lite +2,722,560 +2,304 ", table, re.MULTILINE)
    assert main(["describe", "--preset", "paper", "--json"]) == 0

    def refuse(name):
        raise ValueError(name)

    rows = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert [row["parameters"] for row in rows] == [2724864] * 2 + [2722560] * 2


def test_an_interrupted_run_says_how_to_go_on(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("velocity_ledger.experiment._run.run_experiment", lambda *a, **k: 143)
    out = str(tmp_path / "a run")
    assert main(["compare", "--out", out]) == 143
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[-1].endswith(f"compare --out '{out}' --resume")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_a_process_that_started_anew(corpus, tmp_path, number):
    out = tmp_path / "run"
    words = ["compare", *TINY, "--variants", "plain", "--corpus", corpus, "--out", str(out)]
    words += ["--training.steps", "1000000", "--training.checkpoint-every", "100000"]
    words += ["--training.val-every", "100000", "--device", "cpu"]
    environment = {k: v for k, v in os.environ.items() if k != "GLIBC_TUNABLES"}
    environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    process = subprocess.Popen(
        [sys.executable, "-m", "velocity_ledger", *words],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            begun = (out / "manifest.json").exists()
            if begun and open_bundle(out).cells[0].state == "running":
                break
            assert process.poll() is None, process.communicate()
            time.sleep(0.1)
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 128 + number, errors
    assert "Traceback" not in errors
    assert "--resume" in errors.splitlines()[-1]
    (cell,) = open_bundle(out).cells
    assert cell.state == "interrupted"


def test_the_command_in_the_manifest_is_what_was_typed(monkeypatch):
    seen = []
    monkeypatch.setattr(Describe, "call", lambda options, command: seen.append(command) or 0)
    assert _main.main(["describe", "--json"]) == 0
    assert seen == [["velocity-ledger", "describe", "--json"]]
