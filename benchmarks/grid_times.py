"""Where the time of a grid of runs goes: by cell and session, in a file beside its bundle."""

import contextlib
import dataclasses as dc
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from velocity_ledger._files import write_aside

_COMPILED = "/jax/core/compile/backend_compile_duration"
_FROM_CACHE = "/jax/compilation_cache/cache_hits"
PHASES = {"validating": "validating_s", "measuring": "measuring_s"}
"""What the library tells a display that it is at, and the figure that counts it."""


@dc.dataclass
class Turn:
    """Seconds of what is trained at a time: a cell, or the cells of several seeds."""

    cells: list[str] = dc.field(default_factory=list)
    seconds: float = 0.0
    """From its beginning to that of the next."""
    training_s: float = 0.0
    """Of these, within the library's training."""
    validating_s: float = 0.0
    measuring_s: float = 0.0
    xla_s: float = 0.0
    """XLA's own compiling, or reading what it compiled before, of all programs."""
    programs: int = 0
    programs_from_cache: int = 0


@dc.dataclass
class Session:
    """One start of the command."""

    started: str
    device: str
    stacked: bool
    """Whether the seeds of a variant trained side by side."""
    seconds: float = 0.0
    turns: list[Turn] = dc.field(default_factory=list)


class Times:
    """Takes the time of this session, and keeps it in `path` with those before it.

    Written before every save of a cell: a killed session keeps what it took up to there.
    """

    def __init__(self, path: Path, session: Session, begin: float, about: dict[str, Any]) -> None:
        self.path, self.session, self.about = path, session, about
        self.begin = begin
        self.before: list[dict[str, Any]] = []
        self.clock: TurnClock | None = None

    def take_up(self) -> None:
        """Go on after the sessions in the file, where it is of the same run."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(self.path.read_text(encoding="utf-8"))
            if found["run"] == self.about["run"]:
                self.before = found["sessions"]

    def turn(self, shown: Any) -> "TurnClock":
        """A turn begins, and the one before it has ended; its display is `shown`."""
        self.end_of_turn()
        self.clock = TurnClock(shown, self)
        self.session.turns.append(self.clock.spent)
        return self.clock

    def cell(self, name: str) -> "TurnClock":
        """Return the clock of the turn that has begun, as a tracker of one of its cells."""
        assert self.clock is not None
        self.clock.spent.cells.append(name)
        return self.clock

    def end_of_turn(self) -> None:
        """The turn that was under way has ended."""
        if self.clock is not None:
            self.clock.tick()
        self.clock = None

    def compiled(self, event: str, duration_secs: float, **kwargs: str | int) -> None:
        """JAX tells what took how long."""
        del kwargs
        if event == _COMPILED and self.clock is not None:
            self.clock.spent.xla_s += duration_secs
            self.clock.spent.programs += 1

    def found(self, event: str, **kwargs: str | int) -> None:
        """JAX tells what happened."""
        del kwargs
        if event == _FROM_CACHE and self.clock is not None:
            self.clock.spent.programs_from_cache += 1

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """All of them as JSON holds them, this one last."""
        self.session.seconds = time.perf_counter() - self.begin
        return [*self.before, dc.asdict(self.session)]

    def write(self, figures: Mapping[str, Any] | None = None) -> None:
        """Write the file; `figures` are those of a session that ended."""
        found = {**self.about, **(figures or {}), "sessions": self.sessions}
        text = json.dumps(found, indent=1, allow_nan=False) + "\n"
        write_aside(self.path, lambda path: path.write_text(text, encoding="utf-8"))


class TurnClock:
    """Stands where a display and a tracker of each cell stand; shows what that display does."""

    def __init__(self, shown: Any, times: Times) -> None:
        self.shown, self.times = shown, times
        self.spent = Turn()
        self._begin = time.perf_counter()
        self._ended: float | None = None
        self._busy: tuple[str, float] | None = None

    def tick(self) -> None:
        """Count up to now."""
        now = time.perf_counter()
        self.spent.seconds = now - self._begin
        self.spent.training_s = (self._ended or now) - self._begin

    # As a display.

    def start(self, step: int, steps: int | None = None) -> None:
        """A run begins; told to displays with its length, to trackers without."""
        if steps is not None:
            self.shown.start(step, steps)

    def busy(self, text: str) -> None:
        self._busy = (PHASES[text], time.perf_counter()) if text in PHASES else None
        self.shown.busy(text)

    def update(self, step: int, **told: float) -> None:
        self.shown.update(step, **told)

    def stop(self) -> None:
        self._ended = time.perf_counter()
        self.shown.stop()

    # As a tracker.

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """What was validated or measured is logged as soon as it is known."""
        del step, metrics
        if self._busy is not None:
            name, begin = self._busy
            seconds = getattr(self.spent, name) + time.perf_counter() - begin
            setattr(self.spent, name, seconds)
            self._busy = None

    def flush(self) -> None:
        self.tick()
        self.times.write()

    def finish(self) -> None:
        pass
