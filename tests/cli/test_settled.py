"""What the command line asks for in its own process, and for which commands."""

import os

import pytest

from velocity_ledger import machine
from velocity_ledger.cli import _main
from velocity_ledger.cli._environment import computes_on_cpu, prepare


@pytest.fixture
def asked(monkeypatch):
    """What was asked of the machine; nothing is done."""
    seen = []
    monkeypatch.setattr(machine, "start_anew", lambda: seen.append("memory"), raising=False)

    def cache():
        seen.append("cache")
        return {"VELOCITY_LEDGER_TRIED": "1"}

    monkeypatch.setattr(machine, "compile_cache_environment", cache, raising=False)
    monkeypatch.setattr(_main, "_call", lambda options, command: 7)
    monkeypatch.setenv("VELOCITY_LEDGER_TRIED", "0")
    return seen


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["compare", "--device", "cpu"], ["memory", "cache"]),
        (["train", "--variant", "ledger", "--device", "cpu"], ["memory", "cache"]),
        (
            ["convert", "runs/x", "plain/0", "--to", "ledger", "--device", "cpu"],
            ["memory", "cache"],
        ),
        (["compare", "--device", "gpu"], ["cache"]),
        (["sample", "runs/x", "--prompt", "A"], ["cache"]),
        (["describe"], ["cache"]),
        (["list"], ["cache"]),
        (["check"], ["cache"]),
        (["render", "runs/x"], []),
        (["doctor"], []),
        (["cite", "runs/x"], []),
        (["compare", "--help"], []),
        (["compare", "--nonsense"], []),
    ],
)
def test_memory_for_training_on_the_cpu_and_a_cache_for_what_compiles(asked, words, wanted):
    status = _main._guarded(words, own_process=True)
    assert asked == wanted
    assert os.environ["VELOCITY_LEDGER_TRIED"] == ("1" if "cache" in wanted else "0")
    assert status == (0 if "--help" in words else 2 if "--nonsense" in words else 7)


def test_nothing_in_a_process_of_somebody_else(asked):
    assert _main.main(["compare", "--device", "cpu"]) == 7
    assert asked == []


def test_the_device_asked_for_wins_and_the_user_s_settings_stay():
    environment = {"JAX_PLATFORMS": "tpu", "XLA_PYTHON_CLIENT_PREALLOCATE": "true"}
    prepare("cpu", environment)
    assert environment["JAX_PLATFORMS"] == "cpu"
    assert environment["XLA_PYTHON_CLIENT_PREALLOCATE"] == "true"
    environment = {"JAX_PLATFORMS": "tpu"}
    prepare("auto", environment)
    assert environment["JAX_PLATFORMS"] == "tpu"


@pytest.mark.parametrize("device", ["gpu", "tpu"])
def test_an_accelerator_is_left_to_jax_to_find(device):
    """A list of which JAX lacks one, as `cuda,rocm`, fails wherever only the other is."""
    environment = {"JAX_PLATFORMS": "cpu"}
    prepare(device, environment)
    assert environment["JAX_PLATFORMS"] == ""


def test_the_cpu_is_told_without_jax(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    assert computes_on_cpu("cpu") and not computes_on_cpu("gpu")
    assert not computes_on_cpu("auto")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert computes_on_cpu("auto")
