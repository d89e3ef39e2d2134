"""Options that verbs share."""

import dataclasses as dc
from typing import ClassVar, Literal

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

    computes: ClassVar[bool] = True

    device: Device = "auto"
    """Where JAX computes; `auto` lets JAX choose. A run's record says both."""

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
    """Ask JAX for its devices now, since later it would fail in the middle of something.

    Raises UserError where there is none of that kind, with what to install.
    """
    import jax

    try:
        found = jax.devices(None if device == "auto" else device)
    # An assertion of JAX's own: JAX_PLATFORMS=cuda where no card is.
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0].rstrip(".") or "it sees none"
        raise UserError(
            f"JAX finds no device for --device {device} ({reason}): {_mend(device)}"
        ) from error
    if jax.devices()[0] not in found:
        raise UserError(
            f"this process computes on {jax.default_backend()} already, not on --device {device}: "
            "begin another"
        )


def _mend(device: str) -> str:
    from velocity_ledger.doctor._declared import install_extra
    from velocity_ledger.doctor._plugins import plugins

    if device in ("auto", "cpu"):
        return "unset JAX_PLATFORMS"
    present = [plugin for plugin in plugins() if plugin.version is not None]
    if device == "gpu" and present:
        names = " and ".join(f"{plugin.name} {plugin.version}" for plugin in present)
        return f"{names} is here, the card or its driver is not; see velocity-ledger doctor"
    wanted = {"gpu": install_extra("cuda"), "tpu": 'pip install "jax[tpu]"'}[device]
    card = "for an NVIDIA card, " if device == "gpu" else ""
    return f"{card}{wanted}; or choose --device cpu"
