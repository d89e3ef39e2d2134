"""One small run for all that train through the whole pipeline.

Sizes and alphabet are part of a program: where they are the same, it is compiled once, by whichever
test comes first. Schedules, seeds and rates may differ.
"""

from typing import Any

from velocity_ledger.model import ModelConfig

MODEL = ModelConfig(layers=1, width=8, heads=2, hidden=16, context=8, dropout=0.2)
LETTERS = "abcde \n"
SENTENCE = "to be not to be\n"
SIZES: dict[str, Any] = {"batch": 4, "val_batches": 2, "probe_windows": 2}
"""Of a `TrainingConfig`."""

WORDS = (
    *("--preset", "smoke", "--model.layers", "1", "--model.width", "8", "--model.heads", "2"),
    *("--model.hidden", "16", "--model.context", "8", "--model.dropout", "0.2"),
    *("--training.batch", "4", "--training.val-batches", "2", "--training.probe-windows", "2"),
)
"""The same on a command line."""

assert len(set(LETTERS)) == len(set(SENTENCE)) == 7
