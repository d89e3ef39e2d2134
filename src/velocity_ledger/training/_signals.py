"""Ctrl-C and SIGTERM as a wish that is granted between two steps."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def stop_signals() -> Iterator[Callable[[], int | None]]:
    """Within this block SIGINT and SIGTERM only set a flag; yields the function that reads it.

    The function returns the first signal's number, or None. A second SIGINT raises
    `KeyboardInterrupt` at once. Earlier handlers come back at the end. Outside the main thread,
    where Python allows no handlers, nothing is changed.
    """
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        if received and number == signal.SIGINT:
            raise KeyboardInterrupt
        received.append(number)

    def read() -> int | None:
        return received[0] if received else None

    if threading.current_thread() is not threading.main_thread():
        yield read
        return
    earlier = {n: signal.signal(n, handle) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield read
    finally:
        for number, handler in earlier.items():
            # None: a handler that was not set from Python and cannot be set back from it.
            if handler is not None:
                signal.signal(number, handler)
