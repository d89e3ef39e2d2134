"""Starting anew: when, once, with the same words and the same process id."""

import contextlib
import json
import os
import subprocess
import sys

import pytest

from velocity_ledger import _pages
from velocity_ledger.cli import _huge_pages, _main
from velocity_ledger.cli._environment import computes_on_cpu, prepare


@pytest.fixture
def willing(monkeypatch, tmp_path):
    """A Linux machine with glibc whose kernel gives huge pages to who asks."""
    kernel = tmp_path / "enabled"
    kernel.write_text("always [madvise] never\n")
    monkeypatch.setattr(_pages, "_KERNEL", kernel)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "confstr", lambda name: "glibc 2.36", raising=False)
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    monkeypatch.delenv(_pages.OPT_OUT, raising=False)
    return kernel


def test_worthwhile_where_all_is_given(willing):
    assert _huge_pages.worthwhile()


@pytest.mark.parametrize("name", ["GLIBC_TUNABLES", _pages.OPT_OUT])
def test_not_where_the_user_or_the_first_start_set_a_variable(willing, monkeypatch, name):
    monkeypatch.setenv(name, "1")
    assert not _huge_pages.worthwhile()


@pytest.mark.parametrize("modes", ["[always] madvise never", "always madvise [never]", ""])
def test_not_where_the_kernel_always_or_never_does(willing, modes):
    willing.write_text(modes)
    assert not _huge_pages.worthwhile()


@pytest.mark.parametrize("version", ["glibc 2.31", "musl 1.2", ""])
def test_not_with_another_library(willing, monkeypatch, version):
    monkeypatch.setattr(os, "confstr", lambda name: version)
    assert not _huge_pages.worthwhile()


def test_not_on_another_system(willing, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not _huge_pages.worthwhile()


@pytest.mark.parametrize(
    ("kernel", "environment", "state"),
    [
        ("always madvise [never]", {}, "never"),
        ("[always] madvise never", {}, "always"),
        ("always [madvise] never", {}, "offered"),
        ("always [madvise] never", {_pages.OPT_OUT: "1"}, "declined"),
        ("always [madvise] never", {_pages.VARIABLE: _pages.VALUE}, "asked"),
        (
            "always [madvise] never",
            {_pages.VARIABLE: f"glibc.malloc.check=1:{_pages.VALUE}"},
            "asked",
        ),
        ("always [madvise] never", {_pages.VARIABLE: "glibc.malloc.check=1"}, "tuned"),
        ("", {}, "unknown"),
    ],
)
def test_every_state_has_its_name(willing, monkeypatch, kernel, environment, state):
    willing.write_text(kernel)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert _pages.state() == state


@pytest.mark.parametrize(
    ("words", "starts"),
    [
        (["compare", "--device", "cpu"], True),
        (["train", "--variant", "ledger", "--device", "cpu"], True),
        (["compare", "--device", "gpu"], False),
        (["describe", "--device", "cpu"], False),
        (["render", "runs/quick"], False),
        (["compare", "--help"], False),
        (["compare", "--nonsense"], False),
    ],
)
def test_only_training_on_the_cpu_starts_anew(willing, monkeypatch, words, starts):
    class Started(BaseException):
        pass

    def start(*given):
        raise Started

    monkeypatch.setattr(os, "execve", start)
    monkeypatch.setattr(_main, "_call", lambda options, command: 0)
    with pytest.raises(Started) if starts else contextlib.nullcontext():
        _main._guarded(words, own_process=True)
    _main._guarded(words, own_process=False)


def test_a_refused_start_goes_on_without(willing, monkeypatch):
    def refuse(*given):
        raise PermissionError

    monkeypatch.setattr(os, "execve", refuse)
    monkeypatch.setattr(_main, "_call", lambda options, command: 7)
    assert _main._guarded(["compare", "--device", "cpu"], own_process=True) == 7


_CODE = """
import json, os, sys
from velocity_ledger.cli import _huge_pages
print(json.dumps([os.getpid(), sys.argv, sys.orig_argv, os.environ.get("GLIBC_TUNABLES")]))
if "GLIBC_TUNABLES" not in os.environ:
    _huge_pages.start_anew()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="for glibc")
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
    environment = {k: v for k, v in os.environ.items() if k != "GLIBC_TUNABLES"}
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
    assert second[3] == "glibc.malloc.hugetlb=1" and first[3] is None
    assert second[0] == first[0]
    assert second[1] == first[1] and second[1][1:] == words
    assert second[2][1:] == first[2][1:]


def test_the_device_asked_for_wins_and_the_user_s_settings_stay(monkeypatch):
    environment = {"JAX_PLATFORMS": "tpu", "XLA_PYTHON_CLIENT_PREALLOCATE": "true"}
    prepare("cpu", environment)
    assert environment["JAX_PLATFORMS"] == "cpu"
    assert environment["XLA_PYTHON_CLIENT_PREALLOCATE"] == "true"
    environment = {"JAX_PLATFORMS": "tpu"}
    prepare("auto", environment)
    assert environment["JAX_PLATFORMS"] == "tpu"


def test_the_cpu_is_told_without_jax(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    assert computes_on_cpu("cpu") and not computes_on_cpu("gpu")
    assert not computes_on_cpu("auto")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert computes_on_cpu("auto")
