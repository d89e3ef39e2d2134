"""Metrics of recorded depth paths, their null models, and intervals over seeds."""

from typing import TYPE_CHECKING

from velocity_ledger._lazy import lazy

if TYPE_CHECKING:
    from velocity_ledger.telemetry._callback import PathCallback as PathCallback
    from velocity_ledger.telemetry._dataset import path_dataset as path_dataset
    from velocity_ledger.telemetry._impulse import impulse_response as impulse_response
    from velocity_ledger.telemetry._measure import measure as measure
    from velocity_ledger.telemetry._null import (
        null_of_checkpoint as null_of_checkpoint,
        null_path as null_path,
    )
    from velocity_ledger.telemetry._statistics import (
        Interval as Interval,
        mean_interval as mean_interval,
        paired_difference as paired_difference,
    )
    from velocity_ledger.telemetry._summary import summarise as summarise

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "Interval": "_statistics",
        "PathCallback": "_callback",
        "impulse_response": "_impulse",
        "mean_interval": "_statistics",
        "measure": "_measure",
        "null_of_checkpoint": "_null",
        "null_path": "_null",
        "paired_difference": "_statistics",
        "path_dataset": "_dataset",
        "summarise": "_summary",
    },
)
