"""The manifest of a run under way, written anew whenever a cell gets further."""

import contextlib
import dataclasses as dc
import pathlib
from collections.abc import Iterator
from typing import Any

from velocity_ledger.errors import UserError
from velocity_ledger.experiment._files import is_disk_full
from velocity_ledger.experiment._manifest import CellRecord, cell_records, write_manifest


class Ledger:
    """Keeps a run's manifest true to what is on disk."""

    def __init__(self, folder: pathlib.Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self.cells = {cell.name: cell for cell in cell_records(manifest, folder)}

    def update(self, name: str, **changes: Any) -> CellRecord:
        """Change the record of a cell and write the manifest."""
        self.cells[name] = cell = dc.replace(self.cells[name], **changes)
        self.write()
        return cell

    def write(self) -> None:
        """Write the manifest."""
        write_manifest(self.folder, self.manifest | {"cells": list(self.cells.values())})

    @contextlib.contextmanager
    def saving(self, name: str) -> Iterator[None]:
        """Turn a failed write for the cell `name` into one line that says what is kept."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            kept = self.cells[name].step
            what = "no space left on the disk" if is_disk_full(error) else str(error)
            raise UserError(
                f"could not save {name} in {self.folder} ({what}): what was saved up to step "
                f"{kept} of it and every other cell is kept; free some space or mend the folder, "
                "then run again with --resume"
            ) from error
