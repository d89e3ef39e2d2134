"""`sample`: which cell, which prompt, and what is refused."""

import io
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import pytest

from small_run import SENTENCE, WORDS
from velocity_ledger.cli import main

TINY = (
    *WORDS,
    *shlex.split("""
        --training.steps 4 --training.val-every 2 --training.warmup 1
        --training.checkpoint-every 2 --training.telemetry-at --sample 0
    """),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    (folder / "text.txt").write_text(SENTENCE.replace("e", "é") * 100, "utf-8")
    words = [*TINY, "--corpus", str(folder / "text.txt"), "--variants", "plain", "ledger(mu=.5)"]
    assert main(["compare", *words, "--out", str(folder / "run")]) == 0
    return str(folder / "run")


def sampled(capsys, run, *words, status=0):
    capsys.readouterr()
    assert main(["sample", run, *words]) == status
    return capsys.readouterr()


def test_the_first_cell_with_weights_continues_the_prompt(run, capsys):
    found = sampled(capsys, run, "--prompt", "to b", "--length", "20")
    assert found.err == "cell plain/0\n"
    assert found.out.startswith("to b") and len(found.out) == 4 + 20 + 1
    again = sampled(capsys, run, "--cell", "plain/0", "--prompt", "to b", "--length", "12")
    assert again.err == "" and found.out.startswith(again.out.removesuffix("\n"))
    other = sampled(capsys, run, "--cell", "ledger(mu=0.5)/0", "--prompt", "to b", "--length", "20")
    assert other.out != found.out


def test_past_the_context_the_window_can_be_refilled(run, capsys):
    words = ["--prompt", "to b", "--length", "40"]
    exact, refilled = (sampled(capsys, run, *words, "--past", w).out for w in ("exact", "refill"))
    assert exact == sampled(capsys, run, *words).out != refilled
    assert len(refilled) == len(exact) and refilled[:8] == exact[:8]


def test_several_texts_are_told_apart(run, capsys):
    out = sampled(capsys, run, "--prompt", "to", "--length", "9", "--batch", "3").out
    assert [f"--- {k} of 3" in out for k in (1, 2, 3)] == [True] * 3


def test_a_prompt_from_standard_input(run, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("not to"))
    assert sampled(capsys, run, "--prompt", "-", "--length", "3").out.startswith("not to")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--prompt", "Z€"], "'Z' (U+005A), '€' (U+20AC)"),
        (["--prompt", ""], "empty prompt"),
        (["--prompt", "to", "--cell", "ledgr/0"], "no cell 'ledgr/0'"),
        (["--prompt", "to", "--temperature", "-1"], "temperature"),
        (["--prompt", "to", "--top-k", "0"], "top_k"),
        (["--prompt", "to", "--length", "-1"], "length"),
        (["--prompt", "to", "--batch", "0"], "--batch"),
        (["--prompt", "to", "--seed", "-1"], "seed"),
        (["--prompt", "to", "--past", "half"], "--past"),
        ([], "prompt"),
    ],
)
def test_mistakes_are_one_line(run, capsys, words, says):
    found = sampled(capsys, run, *words, status=2)
    assert found.out == ""
    assert says in found.err.splitlines()[-1]


def test_a_run_without_weights_says_so(run, capsys, tmp_path):
    copy = pathlib.Path(shutil.copytree(run, tmp_path / "run"))
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    for cell in manifest["cells"]:
        cell["best_val"] = None
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    found = sampled(capsys, str(copy), "--prompt", "to", status=2)
    assert "no weights yet" in found.err


def test_the_text_is_utf_8_whatever_the_locale(run):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    }
    words = [sys.executable, "-m", "velocity_ledger", "sample", run, "--prompt", "-"]
    done = subprocess.run(
        [*words[:-1], "to b\N{LATIN SMALL LETTER E WITH ACUTE}", "--length", "2"],
        capture_output=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode("utf-8").startswith("to bé")
