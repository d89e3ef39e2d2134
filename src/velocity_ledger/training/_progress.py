"""Showing how far a run is."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Progress(Protocol):
    """What a run tells whoever shows it; no call waits for the device."""

    def start(self, step: int, steps: int) -> None:
        """A run begins at `step` and will end at `steps`."""

    def busy(self, text: str) -> None:
        """Something else than training goes on, for example "compiling"."""

    def update(
        self, step: int, *, loss: float, tokens_per_second: float, seconds_left: float
    ) -> None:
        """`step` updates are done; the rate and the time left leave compilation out."""

    def stop(self) -> None:
        """The run ended, or failed."""


class SilentProgress:
    """Shows nothing."""

    def start(self, step: int, steps: int) -> None:
        del step, steps

    def busy(self, text: str) -> None:
        del text

    def update(
        self, step: int, *, loss: float, tokens_per_second: float, seconds_left: float
    ) -> None:
        del step, loss, tokens_per_second, seconds_left

    def stop(self) -> None:
        pass


class RichProgress:
    """A bar on standard error with the rate and the time left; nothing where that is no terminal.

    `label` names the run. `force` draws the bar even into a pipe.
    """

    def __init__(self, label: str = "training", *, force: bool | None = None) -> None:
        from rich.console import Console

        self.label = label
        self._console = Console(stderr=True, force_terminal=force)
        self._bar = None
        self._task = None

    def start(self, step: int, steps: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        if not self._console.is_terminal:
            return
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            console=self._console,
        )
        self._task = self._bar.add_task(self.label, completed=step, total=steps, state="")
        self._bar.start()

    def busy(self, text: str) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, state=text)

    def update(
        self, step: int, *, loss: float, tokens_per_second: float, seconds_left: float
    ) -> None:
        if self._bar is not None and self._task is not None:
            minutes, seconds = divmod(round(seconds_left), 60)
            hours, minutes = divmod(minutes, 60)
            left = f"{hours}:{minutes:02}:{seconds:02}"
            state = f"loss {loss:.3f}  {tokens_per_second:,.0f} tokens/s  {left} left"
            self._bar.update(self._task, completed=step, state=state)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._bar = None
