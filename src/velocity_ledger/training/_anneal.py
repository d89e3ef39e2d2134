"""An integrator whose numbers move over training."""

import dataclasses as dc
import math
from typing import Any

import jax
import numpy as np
from jax.tree_util import keystr, tree_leaves_with_path

from velocity_ledger.errors import UserError
from velocity_ledger.integrators import Integrator, between

SHAPES = ("linear", "cosine")


@dc.dataclass(frozen=True)
class Anneal:
    """From the numbers of one integrator to those of another, over so many training steps.

        s(i) = i / steps                                linear
        s(i) = (1 - cos(pi i / steps)) / 2              cosine
        number(i) = start + s(i) (end - start)          for i < steps, end from there on

    i counts the updates done: the update number i (from 0) is made, and a validation after i
    updates is taken, at number(i), in float64. It depends on i alone, so nothing of it is saved.
    Numbers of an integrator are data of the compiled step: none is compiled anew.

        Anneal(ledger(mu=0.0), ledger(mu=0.9), 200)
        Anneal.between(plain(), ledger(mu=0.9), 200)    # the same

    Raises `UserError` for integrators of two structures, fewer than 0 steps or another shape.
    """

    start: Integrator
    end: Integrator
    steps: int
    shape: str = "linear"

    def __post_init__(self) -> None:
        if jax.tree.structure(self.start) != jax.tree.structure(self.end):
            raise UserError(f"{self.start} and {self.end} differ in more than numbers")
        if self.steps < 0:
            raise UserError(f"an anneal takes 0 steps or more, got {self.steps}")
        if self.shape not in SHAPES:
            raise UserError(f"an anneal is {' or '.join(SHAPES)}, got {self.shape!r}")
        for name in ("start", "end"):
            # Whole numbers would be another type to the compiled step.
            object.__setattr__(self, name, jax.tree.map(_as_float, getattr(self, name)))

    @classmethod
    def between(
        cls, source: Integrator, target: Integrator, steps: int, shape: str = "linear"
    ) -> "Anneal":
        """Return the way from `source` to `target`, in the structure that holds both.

        Raises `UserError` where no numbers lead from one to the other.
        """
        return cls(*between(source, target), steps, shape)

    def share(self, step: int) -> float:
        """How much of the way is done after `step` updates, 0 to 1."""
        if step >= self.steps:
            return 1.0
        done = max(step, 0) / self.steps
        return done if self.shape == "linear" else (1 - math.cos(math.pi * done)) / 2

    def at(self, step: int) -> Integrator:
        """The integrator after `step` updates."""
        share = self.share(step)
        # Both ends exactly, whatever rounding would make of them.
        if share in (0.0, 1.0):
            return self.end if share else self.start
        return jax.tree.map(lambda a, b: a + share * (b - a), self.start, self.end)

    def arrived(self, step: int) -> bool:
        """Whether a validation after `step` updates is one of the end itself."""
        return step >= self.steps

    def numbers(self, step: int) -> dict[str, float]:
        """The numbers that move, by their place, as `momentum.mu`, after `step` updates."""
        ends = zip(jax.tree.leaves(self.start), jax.tree.leaves(self.end), strict=True)
        moves = [not np.array_equal(a, b) for a, b in ends]
        now = tree_leaves_with_path(self.at(step))
        return {
            keystr(path, simple=True, separator="."): float(leaf)
            for (path, leaf), moving in zip(now, moves, strict=True)
            if moving and np.ndim(leaf) == 0
        }


def _as_float(number: Any) -> Any:
    return float(number) if isinstance(number, int) else number
