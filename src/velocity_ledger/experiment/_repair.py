"""Cells that are done by the manifest, and whose files are gone or damaged."""

import pathlib
from collections.abc import Callable
from typing import Any

from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _weights
from velocity_ledger.experiment._cells import NAME, read_cell
from velocity_ledger.experiment._manifest import CellRecord
from velocity_ledger.training import Checkpoints


def unreadable(folder: pathlib.Path, cell: CellRecord) -> str | None:
    """Return which file of a cell cannot be read and what follows, None where all can.

    A cell that was never validated has no weights.
    """
    readers: dict[str, Callable[[pathlib.Path], Any]] = {NAME: read_cell}
    if cell.best_val is not None:
        readers[_weights.NAME] = _weights.read_weights
    for name, read in readers.items():
        path = folder / name
        try:
            read(path)
        except UserError:
            what = "damaged" if path.exists() else "gone"
            steps = Checkpoints(folder / "checkpoint").steps()
            then = f"going on from its checkpoint of step {steps[-1]}" if steps else "running again"
            return f"{path} is {what}: {then}"
    return None
