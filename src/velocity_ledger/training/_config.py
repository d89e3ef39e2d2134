"""What a training run is, without JAX: the command line reads it for `--help`."""

import dataclasses as dc
import math

from velocity_ledger.errors import UserError


@dc.dataclass(frozen=True)
class TrainingConfig:
    """Optimisation, validation and measurement of one cell; defaults are the published run."""

    steps: int = 12_000
    """Steps of the whole schedule."""
    batch: int = 64
    """Windows a step."""
    microbatch: int | None = None
    """Windows that are worked on at a time, the last piece shorter where it does not divide the
    batch; None: what suits the device. It changes speed, memory and the rounding of sums, nothing
    else."""
    peak_rate: float = 1e-3
    """Learning rate after warm-up."""
    final_rate: float = 1e-4
    """Learning rate at the last step of the cosine."""
    warmup: int = 200
    """Steps of linear warm-up from 0; shortened, and said so, where the schedule is no longer."""
    weight_decay: float = 0.01
    """AdamW's decay, on all parameters as in the published run, but what an integrator exempts."""
    beta1: float = 0.9
    """AdamW's share of the gradient's mean that is kept a step."""
    beta2: float = 0.999
    """AdamW's share of the mean square that is kept a step."""
    clip: float = 1.0
    """Global norm the gradient is clipped to."""
    val_every: int = 250
    """Steps between validations; the last step is always validated."""
    val_batches: int = 4
    """Fixed validation batches shared by all variants; 0 reads the whole split."""
    patience: int | None = None
    """Validations without a new best before stopping; None never stops early."""
    checkpoint_every: int = 250
    """Steps between saves."""
    telemetry_at: tuple[float, ...] = (0.0, 0.1, 0.5, 1.0)
    """Fractions of the schedule at which the depth path is measured."""
    probe_windows: int = 8
    """Validation windows the path is measured on."""
    probe_seed: int = 4242
    """Seed that picks them."""

    def __post_init__(self) -> None:
        for field in dc.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise UserError(f"training {field.name} must be a finite number, got {value}")
        positive = ("steps", "batch", "val_every", "checkpoint_every", "probe_windows")
        for name in positive:
            if getattr(self, name) < 1:
                raise UserError(f"training {name} must be at least 1, got {getattr(self, name)}")
        if self.microbatch is not None and not 1 <= self.microbatch <= self.batch:
            raise UserError(
                f"training microbatch must be from 1 to the batch of {self.batch}, "
                f"got {self.microbatch}"
            )
        for name in ("warmup", "val_batches", "weight_decay", "final_rate", "probe_seed"):
            if getattr(self, name) < 0:
                raise UserError(f"training {name} must not be negative, got {getattr(self, name)}")
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise UserError(
                    f"training {name} must be at least 0 and below 1, got {getattr(self, name)}"
                )
        for name in ("peak_rate", "clip"):
            if not getattr(self, name) > 0:
                raise UserError(f"training {name} must be above 0, got {getattr(self, name)}")
        if self.patience is not None and self.patience < 1:
            raise UserError(f"training patience must be at least 1, got {self.patience}")
        # Said so that NaN is refused, too.
        if any(not 0 <= f <= 1 for f in self.telemetry_at):
            raise UserError(f"telemetry_at holds fractions from 0 to 1, got {self.telemetry_at}")

    @property
    def telemetry_steps(self) -> tuple[int, ...]:
        """Steps at which the path is measured; 0 is the untrained model."""
        return tuple(sorted({round(f * self.steps) for f in self.telemetry_at}))
