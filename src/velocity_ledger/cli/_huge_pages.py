"""Training on the CPU in huge pages, by starting this process anew once.

XLA allocates a step's temporaries afresh and touches every page of them; in pages of 4 KiB the
kernel spends a good part of the step on faults. glibc asks for huge pages if told to, but reads
GLIBC_TUNABLES only when a process starts. `os.execve` keeps the process id, the terminal and the
signals' targets, so that nobody outside can tell.
"""

import os
import sys
from typing import NoReturn

from velocity_ledger import _pages
from velocity_ledger.cli import _interrupts


def worthwhile() -> bool:
    """Whether a new start would get huge pages that this process does not get."""
    # Once the variable is set, by the user or by us, nothing is offered: so it happens once.
    return _pages.state() == "offered" and bool(sys.executable)


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
        os.execve(sys.executable, command, {**os.environ, _pages.VARIABLE: _pages.VALUE})
