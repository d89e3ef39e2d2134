"""What a run records of itself, and the rules read off it."""

import dataclasses as dc
import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int

LEARNED = "learned_"
"""Begins the names of an integrator's own parameters in a measurement."""

Measurement = dict[str, np.ndarray]
"""The recorded quantities of one measurement of the depth path, by name.

Beside them, as `learned_alpha`, what the integrator had learned by then: [n, *shape], or [*shape]
where the whole model shares it.
"""


@dc.dataclass(frozen=True)
class History:
    """Losses and measurements of a run.

    `train_loss[i]` is the loss of the i-th update (from 0), taken before it, dropout on.
    `val_step`, `val_loss` and the keys of `telemetry` count updates done; losses are nats a token.
    """

    train_loss: Float[np.ndarray, " steps"]
    val_step: Int[np.ndarray, " validations"]
    val_loss: Float[np.ndarray, " validations"]
    telemetry: Mapping[int, Measurement]

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as arrays by name, for one file; `from_arrays` takes them back."""
        found = {
            "train_loss": self.train_loss,
            "val_step": self.val_step,
            "val_loss": self.val_loss,
        }
        for step, measurement in self.telemetry.items():
            found |= {f"telemetry/{step}/{name}": value for name, value in measurement.items()}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "History":
        """The history whose `arrays()` these are."""
        telemetry: dict[int, Measurement] = {}
        for name, value in arrays.items():
            if name.startswith("telemetry/"):
                _, step, quantity = name.split("/", 2)
                telemetry.setdefault(int(step), {})[quantity] = value
        return cls(arrays["train_loss"], arrays["val_step"], arrays["val_loss"], telemetry)


class Recorder:
    """A history that grows."""

    def __init__(self, history: History | None = None) -> None:
        self.train_loss: list[np.float32] = list(history.train_loss) if history else []
        self.val_step: list[int] = [int(s) for s in history.val_step] if history else []
        self.val_loss: list[float] = [float(v) for v in history.val_loss] if history else []
        self.telemetry: dict[int, Measurement] = dict(history.telemetry) if history else {}

    def history(self) -> History:
        """What was recorded so far; later records do not change it."""
        return History(
            np.array(self.train_loss, np.float32),
            np.array(self.val_step, np.int64),
            np.array(self.val_loss, np.float64),
            dict(self.telemetry),
        )


def improves(loss: float, best: float | None) -> bool:
    """Whether `loss` is a new best; NaN never is, and neither is infinity nor an equal loss."""
    return math.isfinite(loss) and (best is None or loss < best)


def stalled(val_loss: Sequence[float], patience: int | None) -> bool:
    """Whether `patience` validations in a row brought no new best."""
    if patience is None:
        return False
    best, since = None, 0
    for loss in val_loss:
        if improves(loss, best):
            best, since = loss, 0
        else:
            since += 1
    return since >= patience
