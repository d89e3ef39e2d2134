"""One line on standard error that says what goes on; nothing where that is no terminal."""

import sys


class Progress:
    """A line that is written over."""

    def __init__(self) -> None:
        self._shows = sys.stderr is not None and sys.stderr.isatty()
        self._shown = False

    def show(self, text: str, seconds_left: float | None = None) -> None:
        """Show `text`, and the time left where it is known."""
        if not self._shows:
            return
        if seconds_left is not None:
            minutes, seconds = divmod(round(seconds_left), 60)
            text = f"{text}, {minutes}:{seconds:02} left"
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self._shown = False
