"""What JAX has compiled, kept in the user's cache folder for the next start.

JAX's own persistent cache does the work; here it is told where, how much, and from what on. Its key
holds the program, the options, the versions and the target, for a CPU down to the list of its
instruction sets: machines of different processors that share a folder each find their own entries.
What is taken from it is the machine code that would have been made, so that results are the same.
"""

import contextlib
import dataclasses as dc
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from velocity_ledger._files import nearest
from velocity_ledger.machine._cache_folder import cache_folder

FOLDER = "JAX_COMPILATION_CACHE_DIR"
LIMIT = "JAX_COMPILATION_CACHE_MAX_SIZE"
SWITCH = "JAX_ENABLE_COMPILATION_CACHE"
LEAST = "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"

_BYTES = 512 * 2**20
_SECONDS = 0.1
_OFF = ("0", "f", "false", "n", "no", "off")
_ENTRY, _USED = "-cache", "-atime"
_UNBOUNDED = -1


@dc.dataclass(frozen=True)
class CompileCache:
    """JAX's persistent compilation cache, as the command line uses it."""

    folder: str
    """Where it is, or would be; empty where the user has set that to nothing."""
    use: Literal["used", "off", "unusable"]
    """`off`: the user has switched it off."""
    reason: str | None
    """Why it is not used, if it is not."""
    limit: int | None
    """Bytes; None where it may grow without end."""
    entries: int
    """Compiled programs in it."""
    size: int
    """Bytes of it."""


def compile_cache() -> CompileCache:
    """Return the cache that the commands of this environment use; nothing is changed.

    JAX_COMPILATION_CACHE_DIR is respected, and so is JAX_ENABLE_COMPILATION_CACHE=false. A remote
    folder is not looked into.
    """
    given = os.environ.get(FOLDER)
    folder = str(_own_folder() or "") if given is None else given
    limit = _limit(_BYTES if given is None else _UNBOUNDED)
    off = _switched_off() or (f"{FOLDER} is empty" if given == "" else None)
    if off is not None:
        return CompileCache(folder, "off", off, limit, 0, 0)
    if not folder:
        return CompileCache(folder, "unusable", "this user has no home folder", limit, 0, 0)
    if "://" in folder:
        return CompileCache(folder, "used", None, limit, 0, 0)
    place = Path(folder)
    reason = _refusal(place, ours=given is None)
    sizes = list(_sizes(place))
    use = "used" if reason is None else "unusable"
    return CompileCache(folder, use, reason, limit, len(sizes), sum(sizes))


def compile_cache_environment() -> dict[str, str]:
    """Return what to add to the environment of a process, so that JAX keeps what it compiles there.

    Makes the folder, for this user alone, where it is not there. Empty where the user has named
    another or switched the cache off, and where the folder cannot be used, which is no error. The
    least recently used entries go when there are more than 512 MiB. For example:
        subprocess.run(["python", "mine.py"], env=os.environ | compile_cache_environment())
    """
    if FOLDER in os.environ or _switched_off():
        return {}
    folder = _own_folder()
    if folder is None or not _ready(folder):
        return {}
    words = {FOLDER: str(folder), LIMIT: str(_BYTES), LEAST: str(_SECONDS)}
    return {name: value for name, value in words.items() if name not in os.environ}


def keep_compiled() -> str | None:
    """Let JAX in this process keep what it compiles, and take what an earlier one has compiled.

    Returns the folder, the same as the command line's, or the one that JAX has been told already;
    None where none can be used. To be called before anything is compiled.
    """
    import jax

    if not jax.config.jax_enable_compilation_cache:  # pyright: ignore[reportAttributeAccessIssue]
        return None
    told = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    if told is not None:
        return told or None
    words = compile_cache_environment()
    if FOLDER not in words:
        return None
    for name, kind in ((FOLDER, str), (LIMIT, int), (LEAST, float)):
        if name in words:  # Else JAX has read it from the environment.
            jax.config.update(name.lower(), kind(words[name]))
    return words[FOLDER]


def _own_folder() -> Path | None:
    try:
        return cache_folder().absolute() / "compiled"
    except RuntimeError:  # No home folder to be found.
        return None


def _switched_off() -> str | None:
    value = os.environ.get(SWITCH)
    return f"{SWITCH}={value}" if value is not None and value.lower() in _OFF else None


def _limit(otherwise: int) -> int | None:
    """Bytes that JAX lets it grow to; what is no number JAX itself refuses, later."""
    with contextlib.suppress(ValueError):
        otherwise = int(os.environ.get(LIMIT, otherwise))
    return None if otherwise == _UNBOUNDED else otherwise


def _refusal(folder: Path, *, ours: bool) -> str | None:
    """Why `folder` cannot be used, as far as that is told without writing."""
    place = nearest(folder)
    if not place.is_dir():
        return f"{place} is no folder"
    if not os.access(place, os.W_OK | os.X_OK):
        return f"{place} cannot be written"
    # What is kept there is run: who may write it may run what they like as this user.
    if ours and place == folder.absolute() and hasattr(os, "getuid"):
        about = place.stat()
        if about.st_uid != os.getuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"others may write {place}, and what is kept there is run"
    return None


def _ready(folder: Path) -> bool:
    """Make `folder`, take away what a killed process left in it half, and say if it can be used."""
    import filelock  # JAX's lock of a bounded cache

    try:
        folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
        if _refusal(folder, ours=True) is not None:
            return False
        with filelock.FileLock(folder / ".lockfile").acquire(timeout=0):
            if _limit(_BYTES) is not None:
                _mend(folder)
    except filelock.Timeout:
        pass  # Another process is at it.
    except (OSError, NotImplementedError):  # A file system that cannot be written, or not locked.
        return False
    return True


def _mend(folder: Path) -> None:
    """Remove half entries: JAX would complain of each at every start, and never replace it.

    A bounded cache's entry is whole when the time of its use lies beside it.
    """
    for entry in folder.glob(f"*{_ENTRY}"):
        if not entry.with_name(entry.name.removesuffix(_ENTRY) + _USED).exists():
            entry.unlink(missing_ok=True)


def _sizes(folder: Path) -> Iterator[int]:
    for entry in folder.glob(f"*{_ENTRY}"):
        with contextlib.suppress(OSError):  # Gone meanwhile: another process makes room.
            yield entry.stat().st_size
