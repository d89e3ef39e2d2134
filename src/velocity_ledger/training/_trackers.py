"""Where a run's numbers go while it runs."""

import importlib
import json
import math
import pathlib
from collections.abc import Mapping
from typing import IO, Any, Protocol, runtime_checkable

from velocity_ledger.errors import UserError

CLOSING = "closing_"
"""Prefix of what was taken off the grid where a run was ended early; a resumed run drops it."""


@runtime_checkable
class Tracker(Protocol):
    """Somewhere that numbers by step are kept."""

    def start(self, step: int) -> None:
        """A run begins (`step` 0) or goes on after `step` updates; what lies beyond is void."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Keep these numbers of `step`; steps never decrease."""

    def flush(self) -> None:
        """Write out what is buffered; called before every checkpoint."""

    def finish(self) -> None:
        """The run ended, or failed."""


class NullTracker:
    """Keeps nothing."""

    def start(self, step: int) -> None:
        del step

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        del step, metrics

    def flush(self) -> None:
        pass

    def finish(self) -> None:
        pass


class JsonlTracker:
    """One line of strict JSON a call: `{"step": 250, "val_loss": 2.31}`; NaN becomes null."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = pathlib.Path(path)
        self._file: IO[str] | None = None

    def start(self, step: int) -> None:
        """Cut the file back to `step`, dropping half a last line, and append from there."""
        kept: list[str] = []
        if step and self.path.exists():
            text = self.path.read_text(encoding="utf-8", errors="replace")
            kept = [line for line in text.splitlines() if _belongs(line, step)]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside = self.path.with_name(f".{self.path.name}.part")
        aside.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
        aside.replace(self.path)
        self._file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115  closed by finish

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        if self._file is None:
            raise RuntimeError("JsonlTracker.log before start")
        values = {name: float(value) for name, value in metrics.items()}
        line = {"step": int(step)} | {k: v if math.isfinite(v) else None for k, v in values.items()}
        self._file.write(json.dumps(line, allow_nan=False) + "\n")

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def finish(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None


def _belongs(line: str, step: int) -> bool:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError:
        return False
    if not isinstance(entry, dict) or not isinstance(entry.get("step"), int):
        return False
    return entry["step"] <= step and not any(name.startswith(CLOSING) for name in entry)


def _optional(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(f"{package} is not installed: pip install {package}") from error


class TensorBoardTracker:
    """Scalars in TensorBoard's event files, written by `tensorboardX`.

    Raises `UserError` where the package is missing.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = pathlib.Path(folder)
        self._package = _optional("tensorboardX", "tensorboardX")
        self._writer: Any = None

    def start(self, step: int) -> None:
        """Open a new event file that voids, for TensorBoard, all beyond `step`."""
        purge = step + 1 if step else None
        self._writer = self._package.SummaryWriter(str(self.folder), purge_step=purge)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(name, float(value), int(step))

    def flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()

    def finish(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer = None


class WandbTracker:
    """A Weights & Biases run; the arguments go to `wandb.init`.

    Give `id` to let a resumed run continue its own record. Raises `UserError` where the package is
    missing.
    """

    def __init__(self, **init: Any) -> None:
        self.init = init
        self._package = _optional("wandb", "wandb")
        self._run: Any = None

    def start(self, step: int) -> None:
        del step
        self._run = self._package.init(**{"resume": "allow", **self.init})

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        self._run.log({name: float(value) for name, value in metrics.items()}, step=int(step))

    def flush(self) -> None:
        pass

    def finish(self) -> None:
        if self._run is not None:
            self._run.finish()
        self._run = None
