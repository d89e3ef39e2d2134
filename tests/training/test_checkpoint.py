import errno
import json
import os
import pathlib
import resource
import shutil
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
import pytest

from training.tiny import assert_same
from velocity_ledger.errors import UserError
from velocity_ledger.training import Checkpoints
from velocity_ledger.training._checkpoint import KEEP, _named

# Where a restore fails, the other reads it had begun report to its closed event loop, some tests
# later; that is the storage library's noise, and nothing of ours.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning"
)

HISTORY = {"train_loss": np.array([1.0, np.nan], np.float32), "telemetry/0/path": np.ones((2, 3))}
STATE = {"best_val": 0.1 + 0.2, "best_step": None}


def trees(scale: float = 1.0) -> dict[str, Any]:
    params = {
        "blocks": {0: {"kernel": scale * jnp.arange(6.0).reshape(2, 3)}, 1: {"bias": jnp.ones(2)}},
        "half": jnp.ones(3, jnp.bfloat16),
        "empty": jnp.zeros((0, 4)),
    }
    state = (optax.adam(1e-3).init({"w": jnp.ones(2)}), jax.random.key(7), jnp.int32(16_777_217))
    put = lambda x: jax.device_put(x, jax.devices()[0])  # noqa: E731
    return jax.tree.map(put, {"params": params, "optimizer": state})


def plain(tree: Any) -> Any:
    key = jax.dtypes.prng_key
    return jax.tree.map(
        lambda x: jax.random.key_data(x) if jnp.issubdtype(x.dtype, key) else x, tree
    )


@pytest.fixture
def checkpoints(tmp_path: pathlib.Path) -> Checkpoints:
    made = Checkpoints(tmp_path / "checkpoint")
    made.prepare()
    return made


def test_what_is_saved_comes_back_bit_for_bit(checkpoints: Checkpoints) -> None:
    checkpoints.save(3, trees(), HISTORY, STATE)
    like = jax.tree.map(jnp.zeros_like, plain(trees())) | {"optimizer": trees()["optimizer"]}
    found = checkpoints.restore(3, like)
    assert_same(plain(found), plain(trees()))
    assert_same(checkpoints.history(3), HISTORY)
    state = checkpoints.state(3)
    assert state["best_val"] == 0.1 + 0.2 and state["best_step"] is None and state["step"] == 3


def test_a_checkpoint_of_an_array_a_leaf_is_read(checkpoints: Checkpoints) -> None:
    """What earlier versions wrote."""
    checkpoints.save(3, trees(), HISTORY, STATE)
    folder = checkpoints.path(3)
    leaves = {
        name: {key: leaf for key, leaf in _named(tree).items() if leaf.size}
        for name, tree in trees().items()
    }
    shutil.rmtree(folder / "arrays")
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(folder / "arrays", leaves)
    state = json.loads((folder / "state.json").read_text())
    assert state.pop("end_to_end")
    (folder / "state.json").write_text(json.dumps(state))
    assert_same(plain(checkpoints.restore(3, trees(2))), plain(trees()))


def test_every_leaf_comes_back_on_memory_of_its_own(checkpoints: Checkpoints) -> None:
    many = {"params": {str(i): jnp.full((3, 5), float(i)) for i in range(40)}}
    checkpoints.save(1, many, HISTORY, STATE)
    found = checkpoints.restore(1, many)
    pointers = {leaf.unsafe_buffer_pointer() for leaf in jax.tree.leaves(found)}
    assert len(pointers) == 40
    assert_same(found, many)


def test_a_relative_folder_works(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    relative = Checkpoints(pathlib.Path("here"))
    relative.prepare()
    relative.save(1, trees(), HISTORY, STATE)
    monkeypatch.chdir("/")
    assert relative.steps() == [1]
    assert Checkpoints(tmp_path / "here").steps() == [1]


def test_the_newest_are_kept_and_named_by_step(checkpoints: Checkpoints) -> None:
    for step in (5, 250, 1000):
        checkpoints.save(step, {"params": jnp.ones(2)}, HISTORY, STATE)
    assert checkpoints.steps() == [250, 1000] and KEEP == 2
    names = sorted(p.name for p in checkpoints.folder.iterdir())
    assert names == ["step_00000250", "step_00001000"]


def test_half_a_save_is_never_seen_and_is_removed(checkpoints: Checkpoints) -> None:
    checkpoints.save(1, trees(), HISTORY, STATE)
    left = checkpoints.folder / ".writing_step_00000002"
    shutil.copytree(checkpoints.path(1), left)
    assert checkpoints.steps() == [1]
    checkpoints.prepare()
    assert not left.exists() and checkpoints.steps() == [1]


def test_what_a_save_did_not_come_to_remove_is_removed(checkpoints: Checkpoints) -> None:
    for step in (1, 2):
        checkpoints.save(step, {"params": jnp.ones(2)}, HISTORY, STATE)
    shutil.copytree(checkpoints.path(2), checkpoints.path(3))
    checkpoints.prepare()
    assert checkpoints.steps() == [2, 3]


def test_an_unwritable_folder_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write checkpoints"):
        Checkpoints(tmp_path / "file" / "checkpoint").prepare()


@pytest.mark.parametrize("call", ["rename", "fsync", "mkdir"])
def test_a_failed_save_keeps_the_one_before(
    call: str, checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints.save(1, trees(), HISTORY, STATE)

    def full(*arguments: Any, **keywords: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(*((pathlib.Path, call, full) if call == "mkdir" else (os, call, full)))
        with pytest.raises(UserError, match=r"No space left.*checkpoint of step 1 is whole"):
            checkpoints.save(2, trees(2), HISTORY, STATE)
    assert [p.name for p in checkpoints.folder.iterdir()] == ["step_00000001"]
    assert_same(plain(checkpoints.restore(1, trees(2))), plain(trees()))
    checkpoints.save(2, trees(2), HISTORY, STATE)
    assert checkpoints.steps() == [1, 2]


@pytest.fixture
def small_files() -> Iterator[None]:
    """The system itself refuses files above 32 KiB, inside orbax's own writer too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**15, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_refuses_is_reported_in_one_line(
    checkpoints: Checkpoints, small_files: None, capfd: pytest.CaptureFixture[str]
) -> None:
    del small_files
    checkpoints.save(1, {"params": jnp.ones(2)}, HISTORY, STATE)
    big = {"params": jax.random.normal(jax.random.key(0), (1000, 100))}
    with pytest.raises(UserError, match=r"\(File too large\); the checkpoint of step 1 is whole"):
        checkpoints.save(2, big, HISTORY, STATE)
    assert [p.name for p in checkpoints.folder.iterdir()] == ["step_00000001"]
    assert capfd.readouterr() == ("", "")


def test_another_model_is_refused_by_name(checkpoints: Checkpoints) -> None:
    checkpoints.save(1, trees(), HISTORY, STATE)
    wider = trees()
    wider["params"]["blocks"][0]["kernel"] = jnp.ones((2, 4))
    with pytest.raises(UserError, match=r"params blocks\.0\.kernel.*float32\[2, 4\]"):
        checkpoints.restore(1, wider)
    fewer = trees()
    del fewer["params"]["half"]
    with pytest.raises(UserError, match=r"holds bfloat16.* params half, .* needs nothing"):
        checkpoints.restore(1, fewer)
    other = trees()
    other["params"]["half"] = jnp.ones(3)
    with pytest.raises(UserError, match="half"):
        checkpoints.restore(1, other)


@pytest.mark.parametrize("file", ["state.json", "history.npz", "arrays/manifest.ocdbt"])
def test_a_damaged_checkpoint_is_named(file: str, checkpoints: Checkpoints) -> None:
    checkpoints.save(1, trees(), HISTORY, STATE)
    (checkpoints.path(1) / file).write_bytes(b"not what it was")
    with pytest.raises(UserError, match="step_00000001 is damaged"):
        checkpoints.state(1)
        checkpoints.history(1)
        checkpoints.restore(1, trees())


def test_a_truncated_history_is_named_with_what_to_do(checkpoints: Checkpoints) -> None:
    for step in (1, 2):
        checkpoints.save(step, trees(), HISTORY, STATE)
        file = checkpoints.path(step) / "history.npz"
        file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(UserError, match=r"2 is damaged .*delete that .* from the one of step 1$"):
        checkpoints.history(2)
    with pytest.raises(UserError, match=r"1 is damaged .*delete that folder and begin again$"):
        checkpoints.history(1)


def test_names_that_collide_are_kept_apart(checkpoints: Checkpoints) -> None:
    tree = {"params": {"a": {"b": jnp.ones(1)}, "a.b": jnp.zeros(1)}}
    checkpoints.save(1, tree, HISTORY, STATE)
    assert_same(checkpoints.restore(1, tree), tree)


def test_an_optimizer_without_state_can_be_saved(checkpoints: Checkpoints) -> None:
    tree = {"params": jnp.ones(1), "optimizer": optax.sgd(0.1).init({"w": jnp.ones(1)})}
    checkpoints.save(1, tree, HISTORY, STATE)
    assert_same(checkpoints.restore(1, tree), tree)
