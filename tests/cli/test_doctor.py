"""`doctor`, and what the other verbs say where jax and flax do not fit, as processes."""

import json
import os
import re
import subprocess
import sys
import textwrap

import pytest

from velocity_ledger.cli import main
from velocity_ledger.cli.verbs._doctor import NAME_WIDTH
from velocity_ledger.doctor import Check

LINE = re.compile(r"(ok  |warn|fail)  (\S.*?) {2,}(\S.*)")


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Run the command with these sources before all others on the path."""
    folder = tmp_path / "site"

    def run(*words, sources=None, **environment):
        for name, source in (sources or {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(source))
        paths = os.pathsep.join([str(folder), *(p for p in sys.path if p)])
        cache = str(tmp_path / "cache")
        given = {**os.environ, "PYTHONPATH": paths, "VELOCITY_LEDGER_CACHE": cache}
        return subprocess.run(
            [sys.executable, "-m", "velocity_ledger", *words],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**given, "VELOCITY_LEDGER_NO_REEXEC": "1", **environment},
        )

    return run


# jax 0.11 took away what flax 0.12.8 imports.
MISFIT = {
    "jax/__init__.py": "__version__ = '0.11.1'",
    "jax-0.11.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: jax\nVersion: 0.11.1\n",
    "flax/__init__.py": "from jax import hijax",
    "flax-0.12.8.dist-info/METADATA": "Metadata-Version: 2.1\nName: flax\nVersion: 0.12.8\n",
}


def test_it_is_aligned_and_plain_when_piped(command):
    done = command("doctor")
    assert done.stderr == ""
    assert "\x1b" not in done.stdout and done.stdout.isascii()
    *lines, summary = done.stdout.splitlines()
    statuses = []
    for line in lines:
        if line.startswith(" "):
            assert line.startswith(" " * (8 + NAME_WIDTH) + "-> ")
            continue
        assert LINE.fullmatch(line), line
        assert line[6 + NAME_WIDTH : 8 + NAME_WIDTH] == "  " and line[8 + NAME_WIDTH] != " "
        statuses.append(line[:4].strip())
    assert f"{len(statuses)} checks" in summary
    assert done.returncode == (1 if "fail" in statuses else 0)
    assert any("compiled product is right" in line for line in lines)


def test_json_holds_the_same_checks(command):
    done = command("doctor", "--json")
    record = json.loads(done.stdout)
    assert sum(record["summary"].values()) == len(record["checks"])
    assert all(set(check) == {"name", "status", "found", "mend"} for check in record["checks"])
    names = [check["name"] for check in record["checks"]]
    assert len(names) == len(set(names))
    assert done.returncode == (1 if record["summary"]["fail"] else 0)


def test_versions_that_do_not_fit_are_told_with_the_command(command):
    done = command("doctor", "--json", sources=MISFIT)
    assert done.returncode == 1, done.stderr
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    fit = checks["jax and flax"]
    assert fit["status"] == "fail"
    assert "flax 0.12.8" in fit["found"] and "jax 0.11.1" in fit["found"]
    assert fit["mend"].startswith('pip install "jax')
    assert checks["JAX at work"]["status"] == "fail"
    assert "hijax" in checks["JAX at work"]["found"] or "numpy" in checks["JAX at work"]["found"]
    assert checks["corpus cache"]["status"] in ("ok", "warn")


def test_nothing_of_jax_is_imported(command):
    code = """
        import sys
        from velocity_ledger.cli import main
        main(["doctor"])
        print([n for n in ("jax", "jaxlib", "flax", "optax") if n in sys.modules], file=sys.stderr)
    """
    paths = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.stderr == "[]\n"


@pytest.mark.parametrize(
    "words",
    [
        ["describe", "--preset", "smoke"],
        ["compare", "--preset", "smoke", "--corpus", "text.txt", "--device", "cpu"],
        ["train", "--preset", "smoke", "--variant", "ledger", "--corpus", "text.txt"],
    ],
)
@pytest.mark.parametrize("breaks", ["from jax import hijax", "import jax; jax.hijax"])
def test_every_verb_says_it_in_one_line(command, tmp_path, words, breaks):
    (tmp_path / "text.txt").write_text("To be, or not to be\n" * 2000)
    done = command(
        *words, sources={**MISFIT, "jax/__init__.py": breaks.replace("from jax", "from json")}
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        "velocity-ledger: error: jax 0.11.1 and flax 0.12.8 do not fit each other"
    )
    assert line.endswith(": run velocity-ledger doctor")


def test_another_import_error_keeps_its_traceback(monkeypatch):
    def call(options, command):
        raise ImportError("something else")

    monkeypatch.setattr("velocity_ledger.cli.verbs.Describe.call", call)
    with pytest.raises(ImportError, match="something else"):
        main(["describe"])


def faked(monkeypatch, *checks):
    monkeypatch.setattr("velocity_ledger.doctor._examine.examine", lambda: iter(checks))


@pytest.mark.parametrize(
    ("statuses", "status", "verdict"),
    [
        (["ok", "ok"], 0, "ready: 2 checks, 2 ok"),
        (["ok", "warn"], 0, "ready, with warnings: 2 checks, 1 ok, 1 warn"),
        (["ok", "warn", "fail"], 1, "not ready: 3 checks, 1 ok, 1 warn, 1 fail"),
    ],
)
def test_the_exit_status_and_the_last_line(monkeypatch, capsys, statuses, status, verdict):
    faked(monkeypatch, *(Check(f"c{k}", s, "found") for k, s in enumerate(statuses)))
    assert main(["doctor"]) == status
    assert capsys.readouterr().out.splitlines()[-1] == verdict


def test_colours_only_on_a_terminal(monkeypatch, capsys):
    faked(monkeypatch, Check("c", "fail", "found", "mend it"))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    main(["doctor"])
    assert "\x1b[31mfail\x1b[0m  c" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    main(["doctor"])
    assert "\x1b" not in capsys.readouterr().out
