"""Ctrl-C in a process of the command: one line and exit 130, whatever is under way.

An exception is not enough: raised while modules are being imported, or while the interpreter ends,
it can be lost, turned into another one or printed. Nothing is there yet to be cleaned up, so the
process ends at once. Training asks for the signal itself, and drawing for the exception.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

PROGRAM = "velocity-ledger"
INTERRUPTED = 130

_told = False


def install() -> None:
    """End this process at Ctrl-C, unless it was started to ignore it; let a held one through."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def tell() -> None:
    """Say that the command was interrupted."""
    global _told
    _told = True
    print(f"{PROGRAM}: interrupted", file=sys.stderr)


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Within this block, the first Ctrl-C raises `KeyboardInterrupt`; a second ends the process."""
    if signal.getsignal(signal.SIGINT) is not _end:
        yield
        return
    signal.signal(signal.SIGINT, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _end)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Within this block, and in a program that replaces this one in it, Ctrl-C waits."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _raise(number: int, frame: Any) -> NoReturn:
    del number, frame
    signal.signal(signal.SIGINT, _end)
    raise KeyboardInterrupt


def _end(number: int, frame: Any) -> NoReturn:
    del number, frame
    if not _told:
        # Not by `print`: the signal may have come in the middle of one.
        with contextlib.suppress(OSError):
            os.write(2, f"{PROGRAM}: interrupted\n".encode())
    os._exit(INTERRUPTED)
