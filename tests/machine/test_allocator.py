"""Huge pages: who gets them, and starting anew, once, with the same words and process id."""

import json
import os
import subprocess
import sys
import textwrap
import threading
from multiprocessing import process

import pytest

from velocity_ledger.machine import (
    Allocator,
    _allocator,
    allocator,
    allocator_environment,
    start_anew,
)
from velocity_ledger.machine._allocator import OPT_OUT, VALUE, VARIABLE

ON_DEMAND = "always [madvise] never"


@pytest.fixture
def willing(monkeypatch, tmp_path):
    """A Linux machine with glibc whose kernel gives huge pages to who asks."""
    (tmp_path / "enabled").write_text(f"{ON_DEMAND}\n")
    (tmp_path / "environ").write_bytes(b"HOME=/nowhere\0")
    monkeypatch.setattr(_allocator, "_KERNEL", tmp_path / "enabled")
    monkeypatch.setattr(_allocator, "_STARTED_WITH", tmp_path / "environ")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "confstr", lambda name: "glibc 2.36", raising=False)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delenv(OPT_OUT, raising=False)

    def started(**variables):
        lines = [f"{name}={value}\0" for name, value in variables.items()]
        (tmp_path / "environ").write_text("".join(lines))
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return started


@pytest.fixture
def starts(monkeypatch):
    """What was started anew; the start itself is refused, so that the test goes on."""
    seen = []

    def refuse(program, words, environment):
        seen.append(environment)
        raise PermissionError

    monkeypatch.setattr(os, "execve", refuse)
    return seen


@pytest.mark.parametrize(
    ("kernel", "environment", "pages", "asks"),
    [
        ("always madvise [never]", {}, "never", None),
        ("[always] madvise never", {}, "always", None),
        (ON_DEMAND, {}, "offered", VALUE),
        (ON_DEMAND, {OPT_OUT: "1"}, "declined", VALUE),
        (ON_DEMAND, {VARIABLE: VALUE}, "asked", None),
        (ON_DEMAND, {VARIABLE: VALUE, OPT_OUT: "1"}, "asked", None),
        (ON_DEMAND, {VARIABLE: f"a=1:{VALUE}"}, "asked", None),
        (ON_DEMAND, {VARIABLE: "a=1"}, "tuned", f"a=1:{VALUE}"),
        ("", {}, "elsewhere", None),
    ],
)
def test_every_state_has_its_name(willing, starts, kernel, environment, pages, asks):
    _allocator._KERNEL.write_text(kernel)
    willing(**environment)
    found = allocator()
    assert found.pages == pages
    assert found.tunables == environment.get(VARIABLE)
    assert (found.kernel or "") in kernel
    assert allocator_environment() == ({} if asks is None else {VARIABLE: asks})
    start_anew()
    assert len(starts) == (pages == "offered")


@pytest.mark.parametrize("version", ["glibc 2.31", "musl 1.2", ""])
def test_not_with_another_library(willing, monkeypatch, version):
    monkeypatch.setattr(os, "confstr", lambda name: version or None)
    assert allocator().pages == "elsewhere"
    assert allocator().system == version or version == ""
    assert allocator_environment() == {}


def test_not_with_a_library_that_does_not_say(willing, monkeypatch):
    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(os, "confstr", unknown)
    assert allocator() == Allocator("elsewhere", "another C library", "madvise", None)


def test_not_on_another_system(willing, starts, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert allocator() == Allocator("elsewhere", "darwin", None, None)
    start_anew()
    assert starts == []


def test_a_variable_that_the_program_set_itself_came_too_late(willing, starts, monkeypatch):
    monkeypatch.setenv(VARIABLE, VALUE)
    assert allocator().pages == "offered"
    start_anew()
    assert starts[0][VARIABLE] == VALUE


def test_it_starts_once_even_where_the_variable_is_taken_away(willing, starts):
    start_anew()
    (environment,) = starts
    assert environment[VARIABLE] == VALUE and environment["PATH"] == os.environ["PATH"]
    willing(**{OPT_OUT: environment[OPT_OUT]})
    start_anew()
    assert len(starts) == 1


@pytest.mark.parametrize("argv", [[], [""], ["-"]])
def test_not_a_program_that_cannot_be_read_again(willing, starts, monkeypatch, argv):
    monkeypatch.setattr(sys, "argv", argv)
    start_anew()
    assert starts == []


def test_not_a_session_of_questions(willing, starts, monkeypatch):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    start_anew()
    assert starts == []


def test_not_from_a_thread_or_a_child(willing, starts, monkeypatch):
    thread = threading.Thread(target=start_anew)
    thread.start()
    thread.join()
    monkeypatch.setattr(process, "parent_process", lambda: object())
    start_anew()
    assert starts == []


_CODE = """
import json, os, sys
from velocity_ledger.machine import start_anew
print(json.dumps([os.getpid(), sys.argv, sys.orig_argv, os.environ.get("GLIBC_TUNABLES")]))
start_anew()
"""


@pytest.mark.skipif(
    allocator().pages not in ("offered", "declined", "asked"),
    reason="no new start is worth it here",
)
@pytest.mark.parametrize("how", ["script", "module", "code"])
def test_the_new_start_has_the_same_words_and_id(tmp_path, how):
    (tmp_path / "probe here.py").write_text(_CODE)
    (tmp_path / "probe.py").write_text(_CODE)
    start = {
        "script": ["-X", "utf8", "probe here.py"],
        "module": ["-W", "ignore", "-m", "probe"],
        "code": ["-c", _CODE],
    }[how]
    words = ["compare", "--variants", "ledger(mu=.95)", "a b", "", "it's", '"', "$HOME", "*", "é"]
    environment = {k: v for k, v in os.environ.items() if k not in (VARIABLE, OPT_OUT)}
    environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, *start, *words],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert second[3] == VALUE and first[3] is None
    assert second[0] == first[0]
    assert second[1] == first[1] and second[1][1:] == words
    assert second[2][1:] == first[2][1:]


def test_importing_the_package_asks_for_nothing(tmp_path):
    """Neither the environment nor JAX's settings nor the allocator, whatever is imported."""
    code = """
        import importlib, os, pkgutil, sys
        import flax.nnx, jax, matplotlib, optax, orbax.checkpoint  # Their own doing.
        settings = dict(jax.config.values)
        environment = dict(os.environ)

        def listen(event, words):
            # `mallopt` would be reached through ctypes.
            if event in ("os.exec", "os.putenv", "os.unsetenv") or "mallopt" in map(str, words):
                raise SystemExit(f"{event} {words}")

        sys.addaudithook(listen)
        import velocity_ledger
        for name in velocity_ledger.__all__:
            getattr(velocity_ledger, name)
        for found in pkgutil.walk_packages(velocity_ledger.__path__, "velocity_ledger."):
            importlib.import_module(found.name)
        assert dict(os.environ) == environment
        assert dict(jax.config.values) == settings
        print("nothing")
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "GLIBC_"))}
    environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    environment["VELOCITY_LEDGER_CACHE"] = str(tmp_path / "cache")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "nothing\n", done.stderr
    assert not (tmp_path / "cache").exists()
