"""Where a run is logged beside its own files."""

import hashlib
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from velocity_ledger.errors import UserError

TrackerName = Literal["tensorboard", "wandb"]

_PACKAGES = {"tensorboard": "tensorboardX", "wandb": "wandb"}


def need_packages(names: Sequence[TrackerName]) -> None:
    """Raise `UserError` where a tracker's package is not installed."""
    for name in names:
        if importlib.util.find_spec(_PACKAGES[name]) is None:
            # By its own name: this package may come from its sources, of which pip knows nothing.
            raise UserError(f"--track {name} needs a package: pip install {_PACKAGES[name]}")


def trackers_of(names: Sequence[TrackerName], out: Path) -> Callable[[Any, Path], Sequence[Any]]:
    """Return a maker of a cell's trackers from its record and folder."""

    def make(cell: Any, folder: Path) -> Sequence[Any]:
        from velocity_ledger.experiment import open_bundle
        from velocity_ledger.training import TensorBoardTracker, WandbTracker

        found = []
        for name in dict.fromkeys(names):
            if name == "tensorboard":
                found.append(TensorBoardTracker(folder / "tensorboard"))
            else:
                # A resumed cell goes on in its own record there, another run's never does.
                begun = open_bundle(out).manifest["created"]
                key = hashlib.sha256(f"{begun} {cell.name}".encode()).hexdigest()[:16]
                found.append(
                    WandbTracker(project="velocity-ledger", group=out.name, name=cell.name, id=key)
                )
        return found

    return make
