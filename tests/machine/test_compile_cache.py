"""JAX's cache in the user's folder: when it is used, what is in it, and that no result needs it."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import filelock
import pytest

from velocity_ledger.machine import compile_cache, compile_cache_environment

NAMES = (
    "JAX_COMPILATION_CACHE_DIR",
    "JAX_COMPILATION_CACHE_MAX_SIZE",
    "JAX_ENABLE_COMPILATION_CACHE",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS",
)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Where the cache will be, in an environment that says nothing else of it."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VELOCITY_LEDGER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "compiled"


def test_it_is_in_the_cache_folder_and_for_this_user_alone(folder):
    assert compile_cache().use == "used" and not folder.exists()
    before = dict(os.environ)
    words = compile_cache_environment()
    assert words == {NAMES[0]: str(folder), NAMES[1]: str(512 * 2**20), NAMES[3]: "0.1"}
    assert dict(os.environ) == before
    assert folder.stat().st_mode & 0o777 == 0o700
    assert compile_cache().folder == str(folder)


def test_the_user_s_folder_and_limits_are_respected(folder, monkeypatch, tmp_path):
    monkeypatch.setenv(NAMES[1], "1000")
    monkeypatch.setenv(NAMES[3], "5")
    assert compile_cache_environment() == {NAMES[0]: str(folder)}
    assert compile_cache().limit == 1000
    monkeypatch.setenv(NAMES[0], str(tmp_path / "mine"))
    assert compile_cache_environment() == {}
    monkeypatch.delenv(NAMES[1])
    found = compile_cache()
    assert (found.folder, found.use, found.limit) == (str(tmp_path / "mine"), "used", None)
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("name", "value", "off"),
    [
        ("JAX_ENABLE_COMPILATION_CACHE", "false", True),
        ("JAX_ENABLE_COMPILATION_CACHE", "0", True),
        ("JAX_ENABLE_COMPILATION_CACHE", "No", True),
        ("JAX_ENABLE_COMPILATION_CACHE", "true", False),
        ("JAX_COMPILATION_CACHE_DIR", "", True),
    ],
)
def test_it_can_be_switched_off(folder, monkeypatch, name, value, off):
    monkeypatch.setenv(name, value)
    assert (compile_cache_environment() == {}) == off
    assert folder.exists() != off
    found = compile_cache()
    assert found.use == ("off" if off else "used")
    assert (found.reason is not None and name in found.reason) == off


def test_entries_are_counted_and_not_what_lies_beside_them(folder):
    compile_cache_environment()
    for name in ("a", "b"):
        (folder / f"{name}-cache").write_bytes(bytes(700))
        (folder / f"{name}-atime").write_bytes(bytes(8))
    (folder / "below").mkdir()
    (folder / "below" / "text").write_bytes(bytes(9))
    found = compile_cache()
    assert (found.entries, found.size, found.limit) == (2, 1400, 512 * 2**20)


def test_a_folder_out_of_reach_is_left_alone(folder, monkeypatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "gs://bucket/cache")
    assert (compile_cache().use, compile_cache().entries) == ("used", 0)
    assert compile_cache_environment() == {}


def test_a_folder_that_cannot_be_made_is_no_error(folder, monkeypatch):
    folder.parent.write_text("a file")
    assert compile_cache_environment() == {}
    found = compile_cache()
    assert found.use == "unusable" and found.reason == f"{folder.parent} is no folder"


def test_a_folder_that_cannot_be_written_is_no_error(folder, monkeypatch):
    compile_cache_environment()

    def refuse(*words, **more):
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(filelock.FileLock, "acquire", refuse)
        assert compile_cache_environment() == {}
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert compile_cache().use == "unusable"
    assert compile_cache_environment() == {}


def test_a_user_without_a_home_is_no_error(folder, monkeypatch):
    def refuse(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(pathlib.Path, "expanduser", refuse)
    assert compile_cache_environment() == {}
    assert compile_cache().use == "unusable"


def test_a_folder_that_others_may_write_is_not_run(folder):
    compile_cache_environment()
    folder.chmod(0o770)
    assert compile_cache_environment() == {}
    found = compile_cache()
    assert (
        found.use == "unusable" and found.reason is not None and "others may write" in found.reason
    )


def test_it_is_used_beside_a_process_that_is_at_it(folder):
    compile_cache_environment()
    with filelock.FileLock(folder / ".lockfile"):
        assert compile_cache_environment()[NAMES[0]] == str(folder)


def test_half_entries_go_where_whole_ones_can_be_told(folder, monkeypatch):
    compile_cache_environment()
    for name in ("half-cache", "whole-cache", "whole-atime"):
        (folder / name).write_bytes(b"x")
    # Without a bound JAX keeps no times, and every entry would look like half a one.
    monkeypatch.setenv(NAMES[1], "-1")
    compile_cache_environment()
    assert (folder / "half-cache").exists() and compile_cache().limit is None
    monkeypatch.delenv(NAMES[1])
    compile_cache_environment()
    left = {path.name for path in folder.iterdir()} - {".lockfile"}
    assert left == {"whole-cache", "whole-atime"}


_STEP = """
    import hashlib, json, sys
    import jax
    from flax import nnx
    hits = []
    jax.monitoring.register_event_listener(lambda event, **_: hits.append(event))
    from velocity_ledger import GPT, ModelConfig, ledger
    from velocity_ledger.machine import keep_compiled

    folder = keep_compiled()
    # Once more: what JAX has been told stays.
    assert folder == keep_compiled()
    shape = ModelConfig(layers=1, width=16, heads=2, hidden=32, context=8, vocabulary=11)
    model = GPT(shape, ledger(), rngs=0)
    tokens = jax.random.randint(jax.random.key(0), (2, 8), 0, 11)
    loss, slopes = nnx.jit(nnx.value_and_grad(lambda m: (m(tokens) ** 2).mean()))(model)
    digest = hashlib.sha256(b"".join(x.tobytes() for x in jax.tree.leaves((loss, slopes))))
    print(json.dumps([digest.hexdigest(), hits.count("/jax/compilation_cache/cache_hits"),
        folder, jax.config.jax_compilation_cache_dir, jax.config.jax_compilation_cache_max_size]))
"""


def test_a_second_start_takes_what_the_first_compiled_and_gives_the_same_bits(folder):
    def step():
        paths = os.pathsep.join(p for p in sys.path if p)
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(_STEP)],
            env={**os.environ, "PYTHONPATH": paths, NAMES[3]: "0"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0 and done.stderr == "", done.stderr
        return json.loads(done.stdout)

    compiled, taken, *told = step()
    assert taken == 0 and told == [str(folder), str(folder), 512 * 2**20]
    kept = compile_cache().entries
    assert kept > 0
    again, taken, *_ = step()
    assert taken == kept == compile_cache().entries
    assert again == compiled
