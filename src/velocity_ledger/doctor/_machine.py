"""Memory, caches, disk, clock and standard output."""

import contextlib
import datetime as dt
import locale
import pathlib
import shutil
import sys

from velocity_ledger import machine
from velocity_ledger._files import nearest
from velocity_ledger.doctor._check import Check, Status, size

# The published run's bundle is well below the first; a checkpoint needs more than the second.
LITTLE, TOO_LITTLE = 2 * 2**30, 200 * 2**20

_ELSEWHERE = "export JAX_COMPILATION_CACHE_DIR=FOLDER"
_KERNEL = "/sys/kernel/mm/transparent_hugepage/enabled"
_PAGES: dict[str, tuple[Status, str, str | None]] = {
    "always": ("ok", "the kernel gives them to everybody", None),
    "asked": ("ok", "this process was started to ask for them", None),
    "offered": ("ok", "training on the CPU asks for them by itself", None),
    "elsewhere": (
        "ok",
        "nothing is set: only glibc from 2.35 on, on Linux, can ask for them",
        None,
    ),
    "declined": (
        "ok",
        "VELOCITY_LEDGER_NO_REEXEC is set, so that training does not ask for them",
        "unset VELOCITY_LEDGER_NO_REEXEC",
    ),
    "tuned": (
        "warn",
        "GLIBC_TUNABLES is set and does not ask for them: training on the CPU is slower",
        'export GLIBC_TUNABLES="$GLIBC_TUNABLES:glibc.malloc.hugetlb=1"',
    ),
    "never": (
        "warn",
        "the kernel gives none: training on the CPU is slower",
        f"echo madvise | sudo tee {_KERNEL}",
    ),
}


def huge_pages() -> list[Check]:
    """Return whether training on the CPU gets huge pages, and who stands to them how."""
    memory = machine.allocator()
    status, found, mend = _PAGES[memory.pages]
    about = [memory.system]
    if memory.kernel is not None:
        about.append(f"kernel: {memory.kernel}")
    if memory.tunables is not None:
        about.append(f"GLIBC_TUNABLES={memory.tunables}")
    return [Check("huge pages", status, f"{found} ({', '.join(about)})", mend)]


def compile_cache() -> list[Check]:
    """Return where JAX keeps what it compiled, how much that is, and whether it is used."""
    name, cache = "compile cache", machine.compile_cache()
    if cache.use == "off":
        return [Check(name, "ok", f"switched off: every start compiles anew ({cache.reason})")]
    if cache.use == "unusable":
        found = f"not in use: every start compiles anew ({cache.reason})"
        return [Check(name, "warn", found, _ELSEWHERE)]
    if "://" in cache.folder:
        return [Check(name, "ok", f"in use: {cache.folder}, remote, not looked into")]
    most = "" if cache.limit is None else f" of at most {size(cache.limit)}"
    found = f"in use: {cache.folder}, {cache.entries:,} programs, {size(cache.size)}{most}"
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


def _space(name: str, place: pathlib.Path) -> Check:
    free = shutil.disk_usage(nearest(place)).free
    found = f"{size(free)} free at {place}"
    if free >= LITTLE:
        return Check(name, "ok", found)
    mend = "export VELOCITY_LEDGER_CACHE=FOLDER"
    if "cache" not in name:
        mend = "velocity-ledger compare --out FOLDER"
    return Check(name, "fail" if free < TOO_LITTLE else "warn", found, mend)
