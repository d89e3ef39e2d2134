"""Let a trained cell write text."""

import dataclasses as dc
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro

from velocity_ledger.cli.verbs._settings import Computing, need_device
from velocity_ledger.errors import UserError


@dc.dataclass(frozen=True, kw_only=True)
class Sample(Computing):
    """Let a trained cell continue a prompt, with its best weights so far.

    Inside the context positions count from 0; past it the window slides, so that any length can be
    asked for. The same seed gives the same text, and a longer text begins with the shorter.

    For example:
        velocity-ledger sample runs/quick --cell ledger/0 --prompt "JULIET:" --batch 3
    """

    run: Annotated[Path, tyro.conf.Positional]
    """The run's folder."""
    prompt: str
    """What to go on from; `-` reads it from standard input."""
    cell: str | None = None
    """Variant, a slash, seed, as in `ledger/0`; by default the first that has weights."""
    length: int = 300
    """Characters to write."""
    temperature: float = 0.8
    """Divides the logits; 0 takes the likeliest character every time."""
    top_k: int | None = None
    """Draw among so many of the likeliest characters only."""
    seed: int = 7
    """Draws the characters."""
    batch: int = 1
    """How many texts to write."""
    past: Literal["exact", "refill"] = "exact"
    """Past the context: `exact` encodes the whole window for every character; `refill` is fast and
    an approximation: whenever the window is full, its newest half is encoded and filled up."""

    def call(self, command: Sequence[str]) -> int:
        del command
        if self.batch < 1:
            raise UserError(f"--batch must be at least 1, got {self.batch}")
        prompt = _read() if self.prompt == "-" else _as_typed(self.prompt)
        if not prompt:
            raise UserError("an empty prompt has nothing to go on from: give --prompt some text")
        from velocity_ledger.experiment import load_cell, open_bundle, vocabulary_of

        bundle = open_bundle(self.run)
        vocabulary = vocabulary_of(bundle)
        cell = self.cell
        if cell is None:
            begun = [record.name for record in bundle.cells if record.best_val is not None]
            if not begun:
                raise UserError(f"{self.run} has no weights yet: train first, then sample")
            cell = begun[0]
        ids = vocabulary.encode(prompt)
        need_device(self.device)
        import numpy as np

        from velocity_ledger.model import generate

        drawn = generate(
            load_cell(self.run, cell),
            np.repeat(ids[None], self.batch, 0),
            length=self.length,
            temperature=self.temperature,
            top_k=self.top_k,
            seed=self.seed,
            past=self.past,
        )
        if self.cell is None:
            print(f"cell {cell}", file=sys.stderr)
        if isinstance(sys.stdout, io.TextIOWrapper):
            # The text is what it is, whatever the locale.
            sys.stdout.reconfigure(encoding="utf-8")
        for number, row in enumerate(drawn, 1):
            if self.batch > 1:
                print(f"--- {number} of {self.batch}")
            print(prompt + vocabulary.decode(row))
        return 0


def _as_typed(word: str) -> str:
    """A word of the command line as UTF-8, which a locale without it hands over in escapes."""
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        return os.fsencode(word).decode("utf-8", "surrogateescape")
    return word


def _read() -> str:
    raw = getattr(sys.stdin, "buffer", None)
    return sys.stdin.read() if raw is None else raw.read().decode("utf-8", "surrogateescape")
