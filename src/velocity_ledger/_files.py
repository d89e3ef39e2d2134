"""Writing so that a reader, or the next run, never meets half a file."""

import contextlib
import os
import pathlib
from collections.abc import Callable

from velocity_ledger.errors import UserError


def write_aside(path: pathlib.Path, write: Callable[[pathlib.Path], object]) -> None:
    """Let `write` fill a file beside `path`, then rename it to `path` in one step."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(aside)
        # Renamed before its bytes are on disk, a file could be empty after a power cut.
        with open(aside, "rb") as handle:
            os.fsync(handle.fileno())
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise


def try_folder(folder: pathlib.Path) -> None:
    """Create `folder` and write a file in it, so that an unwritable output fails at once.

    Raises `UserError`.
    """
    trial = folder / f".trial.{os.getpid()}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trial.write_bytes(b"velocity ledger")
        trial.unlink()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(
            f"cannot write to {folder} ({reason}): choose another folder with --out"
        ) from error


def nearest(path: pathlib.Path) -> pathlib.Path:
    """`path`, or the nearest folder above it that is there."""
    path = path.absolute()
    return next((place for place in (path, *path.parents) if place.exists()), path)
