"""Training one model: optimisation, validation, checkpoints and measurement of the depth path."""

from typing import TYPE_CHECKING

from velocity_ledger._lazy import lazy

if TYPE_CHECKING:
    from velocity_ledger.training._anneal import SHAPES as SHAPES, Anneal as Anneal
    from velocity_ledger.training._checkpoint import Checkpoints as Checkpoints
    from velocity_ledger.training._config import TrainingConfig as TrainingConfig
    from velocity_ledger.training._history import LEARNED as LEARNED, History as History
    from velocity_ledger.training._optimizer import (
        optimizer as optimizer,
        schedule as schedule,
        swept_optimizer as swept_optimizer,
        warmup_steps as warmup_steps,
    )
    from velocity_ledger.training._pieces import microbatch as microbatch
    from velocity_ledger.training._progress import (
        Progress as Progress,
        RichProgress as RichProgress,
        SilentProgress as SilentProgress,
    )
    from velocity_ledger.training._run import Data as Data, Run as Run, Snapshot as Snapshot
    from velocity_ledger.training._signals import stop_signals as stop_signals
    from velocity_ledger.training._stacked import Seed as Seed, train_stacked as train_stacked
    from velocity_ledger.training._step import (
        LONGEST as LONGEST,
        Batching as Batching,
        dropout_root as dropout_root,
        training_steps as training_steps,
    )
    from velocity_ledger.training._trackers import (
        JsonlTracker as JsonlTracker,
        NullTracker as NullTracker,
        TensorBoardTracker as TensorBoardTracker,
        Tracker as Tracker,
        WandbTracker as WandbTracker,
    )
    from velocity_ledger.training._train import train as train
    from velocity_ledger.training._validation import (
        ValidationBatches as ValidationBatches,
        evaluate as evaluate,
        validation_batches as validation_batches,
    )

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "Anneal": "_anneal",
        "Batching": "_step",
        "Checkpoints": "_checkpoint",
        "Data": "_run",
        "History": "_history",
        "JsonlTracker": "_trackers",
        "LEARNED": "_history",
        "LONGEST": "_step",
        "NullTracker": "_trackers",
        "Progress": "_progress",
        "RichProgress": "_progress",
        "Run": "_run",
        "SHAPES": "_anneal",
        "Seed": "_stacked",
        "SilentProgress": "_progress",
        "Snapshot": "_run",
        "TensorBoardTracker": "_trackers",
        "Tracker": "_trackers",
        "TrainingConfig": "_config",
        "ValidationBatches": "_validation",
        "WandbTracker": "_trackers",
        "dropout_root": "_step",
        "evaluate": "_validation",
        "microbatch": "_pieces",
        "optimizer": "_optimizer",
        "schedule": "_optimizer",
        "stop_signals": "_signals",
        "swept_optimizer": "_optimizer",
        "train": "_train",
        "train_stacked": "_stacked",
        "training_steps": "_step",
        "validation_batches": "_validation",
        "warmup_steps": "_optimizer",
    },
)
