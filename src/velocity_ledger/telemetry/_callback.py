"""Measure the depth path inside a training loop that is not ours."""

from collections.abc import Iterable

import numpy as np
import xarray as xr
from flax import nnx
from jaxtyping import Array, Int

from velocity_ledger.telemetry._dataset import path_dataset
from velocity_ledger.telemetry._measure import measure


class PathCallback:
    """Measures a model on a fixed probe batch at chosen training steps.

    `tokens` is [windows, time]. `at` holds the steps to measure; None measures at every call:

        watch = PathCallback(tokens, at=(0, 100, 1000))
        for step in range(1001):
            watch(step, model)
            ...
        watch.dataset().to_netcdf("paths.nc")

    A step measured again (after a resume) replaces the earlier measurement. What is kept are
    numbers per token on the host, never the model or its arrays.
    """

    def __init__(
        self,
        tokens: Int[Array, "windows time"] | Int[np.ndarray, "windows time"],
        at: Iterable[int] | None = None,
    ) -> None:
        self.tokens = np.array(tokens, np.int32)
        self.at = None if at is None else frozenset(int(step) for step in at)
        self.measurements: dict[int, dict[str, np.ndarray]] = {}

    def __call__(self, step: int, model: nnx.Module) -> None:
        """Measure `model` if `step` is one of the chosen steps, else do nothing."""
        if self.at is None or step in self.at:
            self.measurements[step] = measure(model, self.tokens)

    def dataset(self) -> xr.Dataset:
        """What was measured so far, over checkpoint, sub_update and token (see `path_dataset`)."""
        return path_dataset(self.measurements, windows=len(self.tokens))
