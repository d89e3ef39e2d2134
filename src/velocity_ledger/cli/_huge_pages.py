"""Training on the CPU in huge pages, by starting this process anew once.

XLA allocates a step's temporaries afresh and touches every page of them; in pages of 4 KiB the
kernel spends a good part of the step on faults. glibc asks for huge pages if told to, but reads
GLIBC_TUNABLES only when a process starts. `os.execve` keeps the process id, the terminal and the
signals' targets, so that nobody outside can tell.
"""

import os
import sys
from pathlib import Path
from typing import NoReturn

from velocity_ledger.cli import _interrupts

OPT_OUT = "VELOCITY_LEDGER_NO_REEXEC"
_VARIABLE = "GLIBC_TUNABLES"
_VALUE = "glibc.malloc.hugetlb=1"
_KERNEL = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def worthwhile() -> bool:
    """Whether a new start would get huge pages that this process does not get."""
    # Set by the user, or by us: in both cases there is nothing to do, so it happens once.
    if sys.platform != "linux" or _VARIABLE in os.environ or os.environ.get(OPT_OUT):
        return False
    try:
        # `always` needs no asking, `never` refuses.
        asked_for = "[madvise]" in _KERNEL.read_text()
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (OSError, ValueError):
        return False
    # The tunable came with glibc 2.35.
    return asked_for and name == "glibc" and _numbers(version) >= (2, 35) and bool(sys.executable)


def start_anew() -> NoReturn:
    """Replace this process by the same command with the variable set.

    `sys.orig_argv` holds the interpreter's own words (`-m velocity_ledger`, the path of the
    console script, `-X` options) as they were given. Raises OSError where the system refuses.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    command = [sys.executable, *sys.orig_argv[1:]]
    # Ctrl-C waits for the new start to be ready for it.
    with _interrupts.held():
        os.execve(sys.executable, command, {**os.environ, _VARIABLE: _VALUE})


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
