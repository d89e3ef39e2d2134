"""Run the contract suite on integrators."""

import contextlib
import dataclasses as dc
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from velocity_ledger.cli import _interrupts
from velocity_ledger.cli.verbs._settings import Computing, Device, Flag, need_device

if TYPE_CHECKING:
    from velocity_ledger.contract import Finding


@dc.dataclass(frozen=True, kw_only=True)
class Check(Computing):
    """Run the contract suite on named integrators or a file of your own, and print the table.

    Every check is a few steps on fields of width 8. Exit status 1 if one fails, with the reason.
    Not declared (-) is what an integrator does not claim.

    For example:
        velocity-ledger check ledger ./examples/mine.py:Braked
    """

    integrators: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Text forms: `ledger`, `ledger(mu=.95)`, `./mine.py:Mine`; all that are named if left out."""
    json: Flag = False
    """Strict JSON instead of the table."""
    device: Device = "cpu"
    """Where JAX computes; the checks are small."""

    def call(self, command: Sequence[str]) -> int:
        del command
        need_device(self.device)
        from velocity_ledger.contract import CHECKS, Subject, examine
        from velocity_ledger.integrators import names

        # All are read before a bar is drawn: a mistake is told at once.
        subjects = [Subject(form) for form in self.integrators or names()]
        # An exception, so that the bar gives the cursor back.
        with _interrupts.raised(), _progress(len(subjects) * len(CHECKS)) as told:
            table = examine(subjects, told=told)
        if self.json:
            print(table.to_json())
        else:
            print(table.to_text())
            print()
            for finding in table.failures:
                print(f"FAIL  {finding.form}: {finding.check}: {finding.reason}")
            print(table.summary())
        return 1 if table.failures else 0


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[["Finding"], None] | None]:
    """A bar with the time left on standard error; None where that is no terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns: tuple[Any, ...] = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda finding: bar.update(task, advance=1, description=finding.form)
