"""What writers of one run owe each other and its reader."""

import contextlib
import errno
import hashlib
import os
import pathlib
from collections.abc import Iterator

from velocity_ledger._files import try_folder as try_folder, write_aside as write_aside
from velocity_ledger.errors import UserError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FULL_TEXTS = ("no space left on device", "disk quota exceeded")


def clear_asides(folder: pathlib.Path) -> None:
    """Remove what killed writers left in `folder` and below; call it under the lock only."""
    for aside in folder.rglob(".*.part"):
        with contextlib.suppress(OSError):
            aside.unlink()


def sha256(path: pathlib.Path) -> str:
    """Digest of a file's bytes, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_disk_full(error: BaseException | None) -> bool:
    """Whether `error`, or what it was raised from, says that the disk or a quota is full."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        # Checkpoint libraries wrap the number into a text.
        if any(text in str(error).lower() for text in _FULL_TEXTS):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextlib.contextmanager
def saved(folder: pathlib.Path, then: str = "run again with --resume") -> Iterator[None]:
    """Turn a failed write of what all cells share into one line that says what to do."""
    try:
        yield
    except OSError as error:
        what = "no space left on the disk" if is_disk_full(error) else error.strerror or str(error)
        raise UserError(
            f"could not write to {folder} ({what}): what is finished is kept; free some space or "
            f"mend the folder, then {then}"
        ) from error


@contextlib.contextmanager
def locked(folder: pathlib.Path) -> Iterator[None]:
    """Hold `folder` for this process; the lock of a process that died is free.

    Raises `UserError` naming the process that holds it.
    """
    try:
        import fcntl
    except ImportError:  # no advisory locks on this system
        yield
        return
    path = folder / ".lock"
    with open(path, "a+", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            handle.seek(0)
            holder = handle.read().strip() or "unknown"
            raise UserError(
                f"another process (pid {holder}) is writing {folder}: "
                "wait for it, stop it, or choose another --out"
            ) from error
        except OSError:
            # A file system without locks: going on beats refusing to run at all.
            yield
            return
        handle.seek(0)
        handle.truncate()
        handle.write(str(os.getpid()))
        handle.flush()
        # The file stays: removing it would let two processes lock two different files.
        yield
