"""Checkpoints that are whole or absent."""

import contextlib
import json
import logging
import os
import pathlib
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

from velocity_ledger.errors import UserError
from velocity_ledger.training._leaves import is_key, numbers

KEEP = 2
"""Whole checkpoints kept; older ones are removed after each save."""

_DAMAGED = (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile)
_PREFIX = "step_"
_ASIDE = ".writing_"


class Checkpoints:
    """The checkpoints of one run in one folder, `step_00000250/` and so on.

    One is written under another name and renamed when all of it is on disk, so a folder of that
    name is whole. Inside: `arrays/` (orbax: of each tree one array a type, its leaves end to end),
    `history.npz`, `state.json`, which names the leaves in their order.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        # orbax refuses relative paths.
        self.folder = pathlib.Path(folder).absolute()

    def steps(self) -> list[int]:
        """Steps of the whole checkpoints, in order."""
        if not self.folder.is_dir():
            return []
        names = [p.name.removeprefix(_PREFIX) for p in self.folder.glob(f"{_PREFIX}*")]
        return sorted(int(name) for name in names if name.isdigit())

    def path(self, step: int) -> pathlib.Path:
        """Folder of the checkpoint of `step`."""
        return self.folder / f"{_PREFIX}{step:08d}"

    def prepare(self) -> None:
        """Create the folder, try to write in it and remove what interrupted saves left.

        Raises `UserError` where it cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for left in self.folder.glob(f"{_ASIDE}*"):
                shutil.rmtree(left)
            self._forget()
            trial = self.folder / f"{_ASIDE}trial"
            trial.mkdir()
            (trial / "file").write_bytes(b"velocity ledger")
            shutil.rmtree(trial)
        except OSError as error:
            raise UserError(
                f"cannot write checkpoints to {self.folder} ({error.strerror or error}): "
                "choose another folder"
            ) from error

    def save(
        self,
        step: int,
        trees: Mapping[str, Any],
        history: Mapping[str, np.ndarray],
        state: Mapping[str, Any],
    ) -> None:
        """Save trees of arrays, the history's arrays and a JSON-able state.

        Raises `UserError` where that fails, for example on a full disk; earlier checkpoints stay.
        """
        aside = self.folder / f"{_ASIDE}{_PREFIX}{step:08d}"
        try:
            if aside.exists():
                shutil.rmtree(aside)
            aside.mkdir(parents=True)
            named = {name: _named(tree) for name, tree in trees.items()}
            ends = {name: _end_to_end(tree) for name, tree in named.items()}
            with _quiet(), ocp.StandardCheckpointer() as checkpointer:
                checkpointer.save(aside / "arrays", ends)
                checkpointer.wait_until_finished()
            with open(aside / "history.npz", "wb") as file:
                np.savez(file, allow_pickle=False, **history)
            described = {name: _described(tree) for name, tree in named.items()}
            said = {**state, "step": step, "arrays": described, "end_to_end": True}
            text = json.dumps(said, allow_nan=False)
            (aside / "state.json").write_text(text, encoding="utf-8")
            _sync(aside)
            os.rename(aside, self.path(step))
            _sync_folder(self.folder)
        except (OSError, ValueError, RuntimeError) as error:
            # Whatever the disk said reaches us through orbax as one of these.
            shutil.rmtree(aside, ignore_errors=True)
            kept = self.steps()
            last = (
                f"the checkpoint of step {kept[-1]} is whole" if kept else "none was saved before"
            )
            raise UserError(
                f"could not save step {step} to {self.folder} ({_reason(error)}); {last}: "
                "free some space or mend the folder, then resume"
            ) from error
        self._forget()

    def _forget(self) -> None:
        for old in self.steps()[:-KEEP]:
            shutil.rmtree(self.path(old), ignore_errors=True)

    def state(self, step: int) -> dict[str, Any]:
        """The JSON state saved with `step`.

        Raises `UserError` where the checkpoint is damaged.
        """
        with self.reading(step):
            return json.loads((self.path(step) / "state.json").read_text(encoding="utf-8"))

    def history(self, step: int) -> dict[str, np.ndarray]:
        """The history's arrays saved with `step`.

        Raises `UserError` where the checkpoint is damaged.
        """
        with (
            self.reading(step),
            # Given a path, NumPy leaves a truncated file open.
            open(self.path(step) / "history.npz", "rb") as file,
            np.load(file, allow_pickle=False) as arrays,
        ):
            return {name: arrays[name] for name in arrays.files}

    def restore(self, step: int, like: Mapping[str, Any]) -> dict[str, Any]:
        """The trees saved with `step`, with the structure, types and placement of `like`.

        Raises `UserError` where what was saved has other names, shapes or types.
        """
        with self.reading(step):
            state = self.state(step)
            saved = state["arrays"]
        named = {name: _named(tree) for name, tree in like.items()}
        for name, tree in named.items():
            _compare(name, saved.get(name, {}), _described(tree))
        # In those of earlier versions every leaf is an array of its own.
        apart = not state.get("end_to_end", False)
        form = _leaves if apart else _ends
        target = {name: form(tree) for name, tree in named.items()}
        with self.reading(step), _quiet(), ocp.StandardCheckpointer() as checkpointer:
            found = checkpointer.restore(self.path(step) / "arrays", target)
            if not apart:
                found = {n: _cut(found[n], list(saved[n]), tree) for n, tree in named.items()}
        return {name: _unnamed(tree, found[name]) for name, tree in like.items()}

    @contextlib.contextmanager
    def reading(self, step: int) -> Iterator[None]:
        """Turn what a damaged checkpoint of `step` raises into a `UserError` with a way out."""
        try:
            yield
        except _DAMAGED as error:
            before = [other for other in self.steps() if other < step]
            then = f"resume from the one of step {before[-1]}" if before else "begin again"
            raise UserError(
                f"the checkpoint {self.path(step)} is damaged ({_reason(error)}): "
                f"delete that folder and {then}"
            ) from error


def _names(tree: Any) -> list[str]:
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path in paths]
    if len(set(names)) < len(names):
        names = [jax.tree_util.keystr(path) for path in paths]
    return names


def _named(tree: Any) -> dict[str, jax.Array]:
    return dict(zip(_names(tree), map(numbers, jax.tree.leaves(tree)), strict=True))


def _unnamed(like: Any, named: Mapping[str, jax.Array]) -> Any:
    def one(name: str, leaf: Any) -> Any:
        if not leaf.size:
            return leaf
        if is_key(leaf):
            return jax.random.wrap_key_data(named[name], impl=jax.random.key_impl(leaf))
        return named[name]

    leaves, structure = jax.tree.flatten(like)
    return structure.unflatten(map(one, _names(like), leaves))


def _end_to_end(named: Mapping[str, jax.Array]) -> dict[str, np.ndarray]:
    """The leaves of each type as one array: a file system takes a few large ones much sooner."""
    by_type: dict[str, list[np.ndarray]] = {}
    for leaf in named.values():
        if leaf.size:
            by_type.setdefault(str(leaf.dtype), []).append(np.asarray(leaf).ravel())
    return {name: np.concatenate(leaves) for name, leaves in by_type.items()}


def _cut(ends: Mapping[str, Any], order: list[str], like: Mapping[str, jax.Array]) -> Any:
    """The leaves again, each on its own memory and where that of `like` is."""
    begin = dict.fromkeys(ends, 0)
    whole = {name: np.asarray(end) for name, end in ends.items()}
    found = {}
    for name in order:
        leaf = like[name]
        if leaf.size:
            kind = str(leaf.dtype)
            part = whole[kind][begin[kind] : begin[kind] + leaf.size].reshape(leaf.shape)
            begin[kind] += leaf.size
            found[name] = jax.device_put(jnp.array(part), leaf.sharding)
    return found


def _ends(named: Mapping[str, jax.Array]) -> dict[str, Any]:
    """The shapes of what `_end_to_end` gives."""
    sizes: dict[str, int] = {}
    for leaf in named.values():
        if leaf.size:
            sizes[str(leaf.dtype)] = sizes.get(str(leaf.dtype), 0) + leaf.size
    here = jax.sharding.SingleDeviceSharding(jax.local_devices(backend="cpu")[0])
    return {
        name: jax.ShapeDtypeStruct((size,), jnp.dtype(name), sharding=here)
        for name, size in sizes.items()
    }


def _leaves(named: Mapping[str, jax.Array]) -> dict[str, Any]:
    return {
        name: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=leaf.sharding)
        for name, leaf in named.items()
        if leaf.size
    }


def _described(named: Mapping[str, jax.Array]) -> dict[str, str]:
    return {name: f"{x.dtype}[{', '.join(map(str, x.shape))}]" for name, x in named.items()}


def _compare(tree: str, saved: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    for name in sorted(saved.keys() | wanted.keys()):
        if saved.get(name) != wanted.get(name):
            raise UserError(
                f"the checkpoint holds {saved.get(name, 'nothing')} as {tree} {name}, this run "
                f"needs {wanted.get(name, 'nothing')}: resume with the model and the optimizer "
                "that saved it"
            )


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(error)
    for known in ("No space left on device", "Disk quota exceeded", "File too large"):
        if known in text:
            return known
    return text.strip().splitlines()[0][:200] if text.strip() else type(error).__name__


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep orbax from printing the traceback of an error that we report in one line."""
    logger = logging.getLogger("absl")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _sync(folder: pathlib.Path) -> None:
    """Put a folder and all in it on disk: a rename must not overtake what it names."""
    for path, _, files in os.walk(folder):
        for name in files:
            with open(os.path.join(path, name), "rb") as file:
                os.fsync(file.fileno())
        _sync_folder(pathlib.Path(path))


def _sync_folder(folder: pathlib.Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
