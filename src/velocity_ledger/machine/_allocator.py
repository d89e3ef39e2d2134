"""Memory in huge pages: whether this process has it, and how to start one that does.

XLA allocates a training step's temporaries afresh and touches every page of them; in pages of
4 KiB the kernel spends a good part of the step on faults. glibc asks for huge pages if told to,
but reads GLIBC_TUNABLES only when a process starts, so that a running one has to start anew.
"""

import contextlib
import dataclasses as dc
import os
import sys
import threading
from pathlib import Path
from typing import Literal

VARIABLE = "GLIBC_TUNABLES"
VALUE = "glibc.malloc.hugetlb=1"
OPT_OUT = "VELOCITY_LEDGER_NO_REEXEC"

Pages = Literal["always", "never", "asked", "tuned", "declined", "offered", "elsewhere"]

_KERNEL = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_STARTED_WITH = Path("/proc/self/environ")
# The tunable came with it.
_GLIBC = (2, 35)


@dc.dataclass(frozen=True)
class Allocator:
    """How a process stands to huge pages."""

    pages: Pages
    """The kernel gives them `always` or `never`; or on demand, and then this process `asked`, was
    started with other tunables (`tuned`), was told not to ask (`declined`), or could in a new start
    (`offered`). `elsewhere`: no Linux, no glibc from 2.35 on, or a kernel without them."""
    system: str
    """What allocates, as in `glibc 2.36`; the name of a system that is no Linux."""
    kernel: str | None
    """What the kernel is set to: `always`, `madvise` (on demand) or `never`."""
    tunables: str | None
    """GLIBC_TUNABLES as this process was started with it."""


def allocator() -> Allocator:
    """Return how this process stands to huge pages; nothing is changed."""
    if sys.platform != "linux":
        return Allocator("elsewhere", sys.platform, None, None)
    library, kernel, tunables = _library(), _kernel(), _started_with(VARIABLE)
    return Allocator(_pages(library, kernel, tunables), library, kernel, tunables)


def allocator_environment() -> dict[str, str]:
    """Return what to add to the environment of a process that is to train on this CPU.

    Empty where that would change nothing, or where the environment has it already. For example:
        subprocess.run(["python", "mine.py"], env=os.environ | allocator_environment())
    """
    if allocator().pages not in ("offered", "tuned", "declined"):
        return {}
    given = os.environ.get(VARIABLE)
    if _asks(given):
        return {}
    return {VARIABLE: f"{given}:{VALUE}" if given else VALUE}


def start_anew() -> None:
    """Start the running program anew, once, where the new start gets huge pages; else do nothing.

    To be called first in a script's main part, since what was done before is done again. The
    process id, the words, the terminal and the signals' targets stay, so that nobody outside can
    tell. Returns at once in a session of questions and answers, in a program that was read from
    standard input, outside the main thread or the first process, where the user has set
    GLIBC_TUNABLES or VELOCITY_LEDGER_NO_REEXEC, and where the system refuses.
    """
    if allocator().pages != "offered" or not _repeatable():
        return
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    # `sys.orig_argv` holds the interpreter's own words (`-m velocity_ledger`, the path of a
    # console script, `-X` options) as they were given.
    command = [sys.executable, *sys.orig_argv[1:]]
    # Once, even behind a wrapper that takes the first variable away again.
    environment = {**os.environ, **allocator_environment(), OPT_OUT: "1"}
    with contextlib.suppress(OSError):
        os.execve(sys.executable, command, environment)


def _pages(library: str, kernel: str | None, tunables: str | None) -> Pages:
    if kernel is None:
        return "elsewhere"
    if kernel != "madvise":
        return "always" if kernel == "always" else "never"
    name, _, version = library.partition(" ")
    if name != "glibc" or _numbers(version) < _GLIBC:
        return "elsewhere"
    if tunables is not None:
        return "asked" if _asks(tunables) else "tuned"
    return "declined" if os.environ.get(OPT_OUT) else "offered"


def _asks(tunables: str | None) -> bool:
    return not {VALUE, VALUE[:-1] + "2"}.isdisjoint((tunables or "").split(":"))


def _repeatable() -> bool:
    """Whether the words of this process begin the same program again."""
    asks = hasattr(sys, "ps1") or bool(sys.flags.interactive)
    read = not sys.argv or sys.argv[0] in ("", "-")
    main = threading.current_thread() is threading.main_thread()
    process = sys.modules.get("multiprocessing.process")
    child = process is not None and process.parent_process() is not None
    return bool(sys.executable) and main and not (asks or read or child)


def _library() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "another C library"
    except (OSError, ValueError):  # musl does not know the name.
        return "another C library"


def _kernel() -> str | None:
    try:
        words = _KERNEL.read_text()
    except OSError:
        return None
    chosen = words.partition("[")[2].partition("]")[0]
    return chosen if chosen in ("always", "madvise", "never") else None


def _started_with(name: str) -> str | None:
    """A variable as this process was started with it: what it sets itself comes too late."""
    try:
        lines = _STARTED_WITH.read_bytes().split(b"\0")
    except OSError:
        return os.environ.get(name)
    begins = os.fsencode(name) + b"="
    return next(
        (os.fsdecode(line)[len(name) + 1 :] for line in lines if line.startswith(begins)), None
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
