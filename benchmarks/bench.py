"""What all parts of a run have in common."""

import dataclasses as dc
import fnmatch
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import driver, settings
from benchmarks.driver import Program
from benchmarks.progress import Progress
from benchmarks.shape import SMOKE, Shape


@dc.dataclass(frozen=True)
class Bench:
    """The options of a run, and how programs are made from them."""

    quick: bool = False
    rounds: int | None = None
    steps: int | None = None
    """Runs of a program in a round."""
    torch: str | None = None
    """The interpreter that has PyTorch."""
    only: tuple[str, ...] = ()
    """Patterns of the training programs' names; empty for all."""
    progress: Progress = dc.field(default_factory=Progress)

    def shape(self, **sizes: Any) -> Shape:
        """The published shape, or one that takes seconds, with some sizes of its own."""
        return dc.replace(SMOKE if self.quick else Shape(), **sizes)

    def sizes(self, *full: int) -> tuple[int, ...]:
        """Sizes of a sweep, or two that take seconds."""
        return (8, 16) if self.quick else full

    def ours(self, name: str, target: str, shape: Shape, **own: Any) -> Program:
        """One of our programs, in the environment that the command line gives it."""
        return self.others(name, target, shape, settings.of_the_command_line(), **own)

    def others(
        self, name: str, target: str, shape: Shape, environment: Mapping[str, str] = {}, **own: Any
    ) -> Program:
        """A program that nothing is set for, unless its row is about that."""
        found = Program(
            name,
            f"benchmarks.programs.{target}",
            title=own.pop("title", ""),
            precision=own.get("precision", "fp32"),
            environment={**environment, **settings.EVERYBODY},
            peer=own.pop("peer", False),
            settings={"shape": dc.asdict(shape), **own},
        )
        if target.startswith("pytorch:"):
            assert self.torch is not None
            found = dc.replace(found, python=self.torch)
        return found

    def wanted(self, programs: Sequence[Program]) -> list[Program]:
        """Those whose names were asked for."""
        return [
            p
            for p in programs
            if not self.only or any(fnmatch.fnmatch(p.name, o) for o in self.only)
        ]

    def alternate(
        self, label: str, programs: Sequence[Program], *, rounds: int, steps: int
    ) -> list[dict[str, Any]]:
        """Rows of raw figures, as JSON holds them; the options of the run come first."""
        rows = driver.alternate(
            programs,
            rounds=self.rounds or (2 if self.quick else rounds),
            steps=self.steps or (2 if self.quick else steps),
            progress=self.progress,
            label=label,
        )
        return [dc.asdict(row) for row in rows]
