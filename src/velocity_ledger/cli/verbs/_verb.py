"""What every command is: a frozen value of its options, which knows how to be called."""

import dataclasses as dc
from collections.abc import Sequence
from typing import ClassVar


@dc.dataclass(frozen=True, kw_only=True)
class Verb:
    """One command: its fields are its options, its docstring is its help.

    Modules of verbs are imported for `--help`, so what computes is imported inside `call`.
    """

    computes: ClassVar[bool] = False
    """Whether it compiles programs that are worth keeping for the next start."""
    trains: ClassVar[bool] = False
    """Whether it computes long enough for huge pages to be worth a new start."""

    @classmethod
    def defaults(cls, words: Sequence[str]) -> "Verb | None":
        """Options that take the place of the class's own defaults, given what was typed."""
        del words
        return None

    def platform(self) -> str:
        """Where JAX is to compute: `auto`, `cpu`, `gpu` or `tpu`; not to wait for a device, cpu."""
        return "cpu"

    def call(self, command: Sequence[str]) -> int:
        """Do what the options ask for and return the exit status; `command` is what was typed."""
        raise NotImplementedError
