"""The command `velocity-ledger`: parse, run the verb, turn mistakes into one line.

Little is imported before `run` is ready for Ctrl-C.
"""

import io
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

from velocity_ledger.cli import _interrupts
from velocity_ledger.cli._interrupts import INTERRUPTED, PROGRAM
from velocity_ledger.errors import UserError

_LONGEST = 2000  # characters of a mistake's line


def run() -> NoReturn:
    """The process of the command: as `main`, with the streams and the memory made ready."""
    _interrupts.install()
    sys.stdout, sys.stderr = _lasting(sys.stdout), _lasting(sys.stderr)
    status = _guarded(sys.argv[1:], own_process=True)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except UserError as mistake:
        _tell(mistake)
        status = status or 2
    sys.exit(status)


def main(arguments: Sequence[str]) -> int:
    """Run the command in this process and return its exit status.

    0: done; 1: a cell diverged; 2: a mistake in the words, told in one line on standard error;
    130 and 143: saved and stopped by SIGINT, SIGTERM.
    """
    return _guarded(arguments, own_process=False)


def _guarded(arguments: Sequence[str], *, own_process: bool) -> int:
    try:
        if list(arguments) in (["--version"], ["-V"]):
            print(f"{PROGRAM} {_version()}")
            return 0
        from velocity_ledger.cli._parse import parse

        verb = parse(arguments)
        if own_process:
            _settle(verb)
        return _call(verb, [PROGRAM, *arguments])
    except UserError as mistake:
        _tell(mistake)
        return 2
    except (ImportError, AttributeError, RuntimeError) as error:
        from velocity_ledger.doctor import misfit

        told = misfit(error)
        if told is None:
            raise
        _tell(UserError(told))
        return 2
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        _interrupts.tell()
        return INTERRUPTED


def _tell(mistake: UserError) -> None:
    text = str(mistake)
    if len(text) > _LONGEST:
        # What was typed stands first, what to do last.
        text = f"{text[:200]} ... {text[200 - _LONGEST :]}"
    print(f"{PROGRAM}: error: {text}", file=sys.stderr)


def _settle(verb: Any) -> None:
    """Ask the machine, for this process alone, for what makes `verb` quick."""
    from velocity_ledger.cli._environment import computes_on_cpu
    from velocity_ledger.machine import compile_cache_environment, start_anew

    if verb.trains and computes_on_cpu(verb.platform()):
        # Ctrl-C waits for the new start to be ready for it.
        with _interrupts.held():
            start_anew()
    if verb.computes:
        os.environ.update(compile_cache_environment())


def _call(verb: Any, command: Sequence[str]) -> int:
    from velocity_ledger.cli._environment import prepare

    prepare(verb.platform())
    return verb.call(command)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("velocity-ledger")
    except PackageNotFoundError:
        return "(not installed)"


class _Lasting(io.FileIO):
    """A file that outlives its reader: `velocity-ledger ... | head` must not end a training run.

    Raises UserError, once, where standard output cannot be written for another reason; of standard
    error there is nobody to tell.
    """

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            if isinstance(error, BrokenPipeError) or self.fileno() != 1:
                return len(data)
            reason = error.strerror or str(error)
            raise UserError(f"cannot write standard output: {reason}") from error


def _lasting(stream: TextIO) -> TextIO:
    """`stream` over the same file, which survives a closed pipe and a narrow encoding."""
    try:
        descriptor = stream.fileno()
        stream.flush()
    except (AttributeError, OSError, ValueError):  # No stream, or one that is no file.
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(_Lasting(descriptor, "wb", closefd=False)),
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.isatty() or descriptor == 2,
    )
