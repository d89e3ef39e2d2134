"""What the commands share: mistakes in one line, an end by a signal, and their exit statuses."""

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from velocity_ledger.errors import UserError

INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    """Raises `UserError` for words that cannot be understood."""

    def error(self, message: str) -> NoReturn:
        raise UserError(message)


def positive(word: str) -> int:
    """A whole number from 1 on."""
    try:
        value = int(word)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 on, got {word}")
    return value


def existing(word: str) -> Path:
    """A path at which there is something."""
    if not Path(word).exists():
        raise argparse.ArgumentTypeError(f"{word} does not exist")
    return Path(word)


def guarded(program: str, work: Callable[[], int]) -> int:
    """Return the exit status of `work`.

    2: a mistake in the words, told in one line on standard error; 130 and 143: stopped by SIGINT
    and SIGTERM.
    """
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        return work()
    except UserError as mistake:
        print(f"{program}: error: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\n{program}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _stop(number: int, frame: Any) -> NoReturn:
    del frame
    raise SystemExit(128 + number)
