"""`--device`: found, refused in one line that says what to install, and recorded."""

import os
import re
import subprocess
import sys

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from velocity_ledger.cli import main
from velocity_ledger.cli.verbs._settings import need_device
from velocity_ledger.errors import UserError


def test_a_device_that_is_not_there_is_said():
    code = "import sys; from velocity_ledger.cli import main; sys.exit(main(sys.argv[1:]))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", code, "describe", "--device", "gpu"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "--device gpu" in line and 'pip install "jax[cuda12]>=0.1' in line


def faked(monkeypatch, by_kind, default):
    """A JAX with these devices by kind, which computes on `default` by itself."""
    import jax

    def devices(kind=None):
        if (kind or default) not in by_kind:
            raise RuntimeError(f"Unknown backend: {kind!r} requested\nmore")
        return by_kind[kind or default]

    monkeypatch.setattr(jax, "devices", devices)
    monkeypatch.setattr(jax, "default_backend", lambda: default)


@pytest.mark.parametrize("device", ["auto", "cpu", "gpu"])
def test_a_device_that_is_there_is_taken(monkeypatch, device):
    default = "cpu" if device == "cpu" else "gpu"
    faked(monkeypatch, {"cpu": ["c"], "gpu": ["g"]}, default)
    need_device(device)


@pytest.mark.parametrize(
    ("device", "says"),
    [
        (
            "gpu",
            "(Unknown backend: 'gpu' requested): for an NVIDIA card, pip install \"jax[cuda12]",
        ),
        ("tpu", 'pip install "jax[tpu]"; or choose --device cpu'),
    ],
)
def test_what_to_install_for_a_device_is_said(monkeypatch, device, says):
    faked(monkeypatch, {"cpu": ["c"]}, "cpu")
    with pytest.raises(UserError, match=re.escape(says)):
        need_device(device)


def test_a_plugin_without_its_card_is_said(monkeypatch):
    from velocity_ledger.doctor import _plugins

    faked(monkeypatch, {"cpu": ["c"]}, "cpu")
    plugin = _plugins.Plugin("jax-cuda12-plugin", Version("0.12.0"), SpecifierSet())
    monkeypatch.setattr(_plugins, "plugins", lambda: [plugin])
    with pytest.raises(
        UserError, match=r"jax-cuda12-plugin 0\.12\.0 is here, the card or its driver"
    ):
        need_device("gpu")


def test_jax_s_own_assertion_is_a_line_too(monkeypatch):
    import jax

    def devices(kind=None):
        raise AssertionError

    monkeypatch.setattr(jax, "devices", devices)
    with pytest.raises(UserError, match=r"--device auto \(it sees none\): unset JAX_PLATFORMS"):
        need_device("auto")


def test_a_process_that_computes_elsewhere_already_is_said(monkeypatch):
    faked(monkeypatch, {"cpu": ["c"], "gpu": ["g"]}, "gpu")
    with pytest.raises(UserError, match="computes on gpu already, not on --device cpu"):
        need_device("cpu")


@pytest.mark.parametrize("words", [["compare"], ["train", "--variant", "ledger"]])
def test_the_device_that_was_asked_for_goes_into_the_record(monkeypatch, words):
    given = []

    def run(*words, **more):
        given.append(more["device"])
        return 143

    monkeypatch.setattr("velocity_ledger.experiment._run.run_experiment", run)
    assert main([*words, "--device", "cpu"]) == main(words) == 143
    assert given == ["cpu", "auto"]
