"""Options that verbs share."""

import dataclasses as dc
from typing import Literal

import tyro

from velocity_ledger.cli.verbs._verb import Verb
from velocity_ledger.errors import UserError
from velocity_ledger.model._config import ModelConfig, Precision
from velocity_ledger.training._config import TrainingConfig

Preset = Literal["paper", "quick", "smoke"]
Device = Literal["auto", "cpu", "gpu", "tpu"]

DEFAULT_PRESET: Preset = "quick"

# `--resume` alone, without its twin `--no-resume`.
Flag = tyro.conf.FlagCreatePairsOff[bool]


@dc.dataclass(frozen=True, kw_only=True)
class Computing(Verb):
    """A verb that computes with JAX."""

    device: Device = "auto"
    """Where JAX computes; `auto` lets JAX choose."""

    def platform(self) -> str:
        return self.device


@dc.dataclass(frozen=True, kw_only=True)
class Settings(Computing):
    """What `compare`, `train` and `describe` share."""

    preset: Preset = DEFAULT_PRESET
    """Where every default below comes from: the published run, minutes, or seconds."""
    precision: Precision | None = None
    """Short for --model.precision, which it goes before."""
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()

    def settled(self) -> "Settings":
        """Return the options with the short ones put where they belong."""
        if self.precision is None:
            return self
        model = dc.replace(self.model, precision=self.precision)
        return dc.replace(self, model=model, precision=None)


def need_device(device: str) -> None:
    """Ask JAX for its devices now, since later it would fail in the middle of something."""
    import jax

    try:
        jax.devices()
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"JAX finds no device for --device {device} ({reason}): choose another, or install "
            "the JAX that is made for it"
        ) from error
