"""The command: mistakes in one line, a file after each part."""

import json
import os
import signal
import types

import pytest

from benchmarks import command


@pytest.fixture(autouse=True)
def own_environment(monkeypatch):
    """The command removes what somebody tuned; the tests go on as before."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--only", "nothing"], "argument --only: invalid choice: 'nothing'"),
        (["--rounds", "0"], "argument --rounds: must be a whole number from 1 on, got 0"),
        (["--steps", "many"], "argument --steps: must be a whole number from 1 on, got many"),
        (["--onl", "training"], "unrecognized arguments: --onl training"),
        (["surplus"], "unrecognized arguments: surplus"),
        (["--torch-python", "/no/python"], "/no/python is no program: name the interpreter"),
        (["--out", "/dev/null/x.json"], "cannot write to /dev/null"),
        (["--out", "{}"], "is a folder: name a file with --out"),
    ],
    ids=lambda value: value[0].strip("-") if isinstance(value, list) else "",
)
def test_a_mistake_is_one_line_and_exit_2(words, told, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "PARTS", {})
    words = [word.format(tmp_path) for word in words]
    assert command.main(words) == 2
    out, err = capsys.readouterr()
    assert not out and err.count("\n") == 1
    assert err.startswith("benchmarks: error: ") and told in err


def test_help_names_every_part(capsys):
    assert command.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(part in out for part in command.PARTS)


def test_a_signal_s_own_handler_is_back_afterwards(capsys):
    before = signal.getsignal(signal.SIGTERM)
    assert command.main(["--help"]) == 0
    assert signal.getsignal(signal.SIGTERM) is before


def part(found):
    return types.SimpleNamespace(measure=lambda bench: found, told=lambda made: f"table {made}")


def test_each_part_has_its_table_and_the_file_says_on_what(tmp_path, capsys, monkeypatch):
    parts = {"depth": part({"cases": []}), "width": part({"cases": [{"error": None}]})}
    monkeypatch.setattr(command, "PARTS", parts)
    out = tmp_path / "new" / "bench.json"
    assert command.main(["--quick", "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert list(found)[-2:] == ["depth", "width"] and found["quick"] is True
    assert {"cpu", "cores", "python", "jax", "flax", "torch", "date"} <= set(found["machine"])
    assert all(found["machine"][name] for name in ("cpu", "cores", "python", "jax", "date"))
    said = capsys.readouterr()
    assert said.out.count("table {") == 2 and str(out) in said.out
    assert "left" not in said.err  # No progress where nobody looks.


def run_of(out, *words):
    return command.main(["--out", str(out), *words])


def test_parts_of_several_calls_are_one_run(tmp_path, monkeypatch):
    turns = {"rows": [{"error": None, "facts": {"torch": "2.0"}, "others": [0.3, None]}]}
    parts = {"training": part(turns), "depth": part({"cases": [1]}), "width": part({"cases": []})}
    monkeypatch.setattr(command, "PARTS", parts)
    out = tmp_path / "bench.json"
    assert run_of(out, "--only", "width", "depth") == 0
    assert json.loads(out.read_text())["machine"]["others"] is None
    parts["depth"] = part({"cases": [2]})
    assert run_of(out, "--only", "depth") == run_of(out, "--only", "training") == 0
    found = json.loads(out.read_text())
    assert list(found)[-3:] == ["training", "depth", "width"]
    assert found["depth"]["cases"] == [2] and found["width"]["cases"] == []
    assert "more than 10 % in 1 of 1 turns" in found["machine"]["others"]
    assert found["machine"]["torch"] == "2.0" and "date" in found["width"]["of"]
    # All parts are a run of its own.
    monkeypatch.setattr(command, "PARTS", {"depth": parts["depth"]})
    assert run_of(out) == 0 and "width" not in json.loads(out.read_text())


@pytest.mark.parametrize(
    ("own", "words", "told"),
    [
        ({"sources": "other"}, (), "holds parts of another source (other, now "),
        ({"jax": "0.1"}, (), "holds parts of another library (0.1, now "),
        ({"cores": 99}, (), "holds parts of another machine (99, now "),
        ({}, ("--quick",), "holds parts of another size"),
        (None, (), "is no run of benchmarks"),
    ],
    ids=["source", "library", "machine", "size", "none"],
)
def test_parts_of_another_run_are_refused(own, words, told, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "PARTS", {"depth": part({"cases": [1]})})
    out = tmp_path / "bench.json"
    assert run_of(out) == 0
    found = json.loads(out.read_text())
    found["machine"] = None if own is None else found["machine"] | own
    out.write_text(json.dumps(found))
    capsys.readouterr()
    before = out.read_text()
    assert run_of(out, "--only", "depth", *words) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and told in err and out.read_text() == before


def test_what_failed_shows_in_the_exit_status(tmp_path, monkeypatch):
    parts = {"depth": part({"rows": [{"error": "ended by SIGKILL", "facts": {}}]})}
    monkeypatch.setattr(command, "PARTS", parts)
    assert command.main(["--out", str(tmp_path / "bench.json")]) == 1


def test_what_is_measured_stays_when_a_later_part_is_stopped(tmp_path, monkeypatch, capsys):
    def stop(bench):
        raise KeyboardInterrupt

    parts = {"depth": part({"cases": []}), "width": types.SimpleNamespace(measure=stop)}
    monkeypatch.setattr(command, "PARTS", parts)
    out = tmp_path / "bench.json"
    assert command.main(["--out", str(out)]) == 130
    assert "depth" in json.loads(out.read_text())
    assert capsys.readouterr().err.splitlines()[-1] == "benchmarks: interrupted"


def test_the_progress_line_is_for_terminals(monkeypatch, capsys):
    import sys

    from benchmarks.progress import Progress

    Progress().show("silent", 3.0)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = Progress()
    shown.show("working", 75.0)
    assert capsys.readouterr().err.endswith("working, 1:15 left")
    shown.clear()
    assert capsys.readouterr().err == "\r\x1b[K"
