"""Time spent on training steps, apart from compilation and everything else."""

import collections
import contextlib
import dataclasses as dc
import time
from collections.abc import Iterator


@dc.dataclass
class Clock:
    """Seconds of compiling and of stepping, and the steps done in the latter.

    Where several runs share the device, each counts its share of the time they take together.
    """

    compile_s: float = 0.0
    train_s: float = 0.0
    steps: int = 0
    sharers: int = 1
    """Runs that go on together; it changes only while nothing goes on."""
    _since: float | None = None
    _dispatched: int = 0
    _last: float = 0.0
    """When the steps that were done last were, or stepping began."""
    _paces: collections.deque[float] = dc.field(default_factory=lambda: collections.deque(maxlen=2))

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """Count this block as compilation."""
        self.rest()
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.compile_s += (time.perf_counter() - begin) / self.sharers

    def handed(self, count: int) -> None:
        """So many steps were handed to the device."""
        self.begin()
        self._dispatched += count

    def begin(self) -> None:
        """Stepping begins, if it was not going on."""
        if self._since is None:
            self._since = self._last = time.perf_counter()

    def shared(self, sharers: int) -> None:
        """So many runs go on together from here: what a step took is no longer what it takes."""
        if sharers != self.sharers:
            self._paces.clear()
        self.sharers = sharers

    def arrived(self, count: int) -> None:
        """So many steps, handed over in one call, are done."""
        now = time.perf_counter()
        self._paces.append((now - self._last) / count)
        self._last = now

    def pace(self) -> float:
        """Seconds of a step of all sharers, in the slower of this process's last two calls.

        0 before the first: what a step took in another process says nothing of this one.
        """
        return max(self._paces, default=0.0)

    def rest(self) -> None:
        """The device has done all steps, and something else begins."""
        if self._since is not None:
            self.train_s += (time.perf_counter() - self._since) / self.sharers
            self.steps += self._dispatched
        self._since, self._dispatched = None, 0

    def seconds_a_step(self, waiting: int) -> float:
        """Mean seconds of a step so far, of which the last `waiting` are not done yet."""
        running = 0.0 if self._since is None else time.perf_counter() - self._since
        done = self.steps + self._dispatched - waiting
        return (self.train_s + running / self.sharers) / done if done > 0 else 0.0
