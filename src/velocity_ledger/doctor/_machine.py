"""Memory, caches, disk, clock and standard output."""

import contextlib
import datetime as dt
import locale
import os
import pathlib
import shutil
import sys
from collections.abc import Iterator

from velocity_ledger import _pages
from velocity_ledger.doctor._check import Check, Status, size

_CACHE = "JAX_COMPILATION_CACHE_DIR"
_KERNEL = "/sys/kernel/mm/transparent_hugepage/enabled"
# The published run's bundle is well below the first; a checkpoint needs more than the second.
LITTLE, TOO_LITTLE = 2 * 2**30, 200 * 2**20

_PAGES: dict[_pages.Pages, tuple[Status, str, str | None]] = {
    "always": ("ok", "the kernel gives them to everybody", None),
    "asked": ("ok", f"asked for by {_pages.VARIABLE}", None),
    "offered": ("ok", "training on the CPU asks for them by itself", None),
    "unknown": ("ok", "not to be had here, and not needed", None),
    "declined": (
        "ok",
        f"{_pages.OPT_OUT} is set, so that training does not ask for them",
        f"unset {_pages.OPT_OUT}",
    ),
    "tuned": (
        "warn",
        f"{_pages.VARIABLE} is set and does not ask for them: training on the CPU is slower",
        f'export {_pages.VARIABLE}="${_pages.VARIABLE}:{_pages.VALUE}"',
    ),
    "never": (
        "warn",
        "the kernel gives none: training on the CPU is slower",
        f"echo madvise | sudo tee {_KERNEL}",
    ),
}


def huge_pages() -> list[Check]:
    """Return whether training on the CPU gets huge pages."""
    return [Check("huge pages", *_PAGES[_pages.state()])]


def compile_cache() -> list[Check]:
    """Return the state of JAX's persistent compilation cache."""
    name = "compile cache"
    given = os.environ.get(_CACHE)
    if not given:
        found = f"{_CACHE} is not set: every start compiles anew (optional)"
        return [Check(name, "ok", found, f"export {_CACHE}=~/.cache/jax")]
    if "://" in given:
        return [Check(name, "ok", f"{given}, remote, not looked into")]
    folder = pathlib.Path(given)
    found = str(folder)
    if folder.is_dir():
        entries = list(_files_of(folder))
        found = f"{folder}, {len(entries):,} files, {size(sum(entries))}"
    elif not folder.exists():
        found = f"{folder}, not there yet"
    parent = nearest(folder)
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        reason = "is no folder" if not parent.is_dir() else "cannot be written"
        other = f"export {_CACHE}=~/.cache/jax"
        return [Check(name, "warn", f"{found}: {parent} {reason}", other)]
    return [Check(name, "ok", found)]


def disk() -> list[Check]:
    """Return the free space where a run is written by default, and where the caches are."""
    places = {"disk, this folder": pathlib.Path.cwd()}
    # An import that fails here is told by the check of the corpus.
    with contextlib.suppress(ImportError):
        from velocity_ledger.corpus import cached_file

        places["disk, cache"] = cached_file(None).parent
    return [_space(name, place) for name, place in places.items()]


def clock() -> list[Check]:
    """Return the time, which must not lie before this package was installed.

    A run's record holds it, and servers are refused whose certificates are not valid yet.
    """
    now = dt.datetime.now().astimezone()
    installed = dt.datetime.fromtimestamp(pathlib.Path(__file__).stat().st_mtime).astimezone()
    found = now.isoformat(sep=" ", timespec="seconds")
    # Folders shared between machines may be a little ahead.
    if now > installed - dt.timedelta(days=1):
        return [Check("clock", "ok", found)]
    found = f"{found}, before this package was installed, {installed:%Y-%m-%d}"
    return [Check("clock", "warn", found, "sudo timedatectl set-ntp true")]


def output() -> list[Check]:
    """Return whether standard output can show every character."""
    name = "output"
    ctype = locale.setlocale(locale.LC_CTYPE)
    encoding = getattr(sys.stdout, "encoding", None)
    if encoding is None:
        return [Check(name, "ok", "no encoding of its own")]
    if encoding.lower().replace("-", "").replace("_", "") in ("utf8", "utf8sig"):
        return [Check(name, "ok", f"{encoding.upper()}, locale {ctype}")]
    put = "set" if sys.platform == "win32" else "export"
    found = f"{encoding}, locale {ctype}: characters outside it are printed as ?"
    return [Check(name, "warn", found, f"{put} PYTHONUTF8=1")]


def nearest(path: pathlib.Path) -> pathlib.Path:
    """`path`, or the nearest folder above it that is there."""
    path = path.absolute()
    return next((place for place in (path, *path.parents) if place.exists()), path)


def _space(name: str, place: pathlib.Path) -> Check:
    free = shutil.disk_usage(nearest(place)).free
    found = f"{size(free)} free at {place}"
    if free >= LITTLE:
        return Check(name, "ok", found)
    mend = "export VELOCITY_LEDGER_CACHE=FOLDER"
    if "cache" not in name:
        mend = "velocity-ledger compare --out FOLDER"
    return Check(name, "fail" if free < TOO_LITTLE else "warn", found, mend)


def _files_of(folder: pathlib.Path) -> Iterator[int]:
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.lstat(os.path.join(base, name)).st_size
            except OSError:  # Gone meanwhile: another process cleans up.
                continue
