"""Cells that begin with a trained cell's weights."""

import dataclasses as dc
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from velocity_ledger.corpus import Corpus
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _weights
from velocity_ledger.experiment._files import saved
from velocity_ledger.model import GPT, ModelConfig
from velocity_ledger.training import Anneal

CONVERTED_FROM = "converted_from"
"""What a manifest calls the record of where its cell's weights come from."""
NAME = "start.safetensors"


@dc.dataclass(frozen=True)
class Start:
    """Where a converted cell begins, and how its integrator's numbers move from there."""

    record: Mapping[str, Any]
    """What the manifest keeps of it."""
    anneal: Anneal
    corpus: Callable[[Callable[[str], None]], Corpus]
    """Reads the text of the run that the weights come from."""
    weights: Callable[[], Mapping[str, Any]]
    """Reads the weights, under the integrator that the anneal starts with."""

    def model(self, config: ModelConfig, folder: pathlib.Path, seed: int) -> GPT:
        """Return the model that the cell begins with, its weights from a copy in its own folder."""
        path = folder / NAME
        if not path.exists():
            weights = self.weights()
            with saved(folder):
                _weights.write_weights(path, weights, {CONVERTED_FROM: self.record})
        model = GPT(config, self.anneal.start, rngs=seed)
        model.import_weights(_weights.read_weights(path)[0])
        return model


def check_start(manifest: Mapping[str, Any] | None, start: Start | None, out: pathlib.Path) -> None:
    """Raise `UserError` where a run would go on as what it is not, or was begun otherwise."""
    if manifest is None:
        return
    recorded = manifest.get(CONVERTED_FROM)
    if recorded is None and start is not None:
        raise UserError(f"{out} was not made by convert: choose another --out")
    if start is None and recorded is not None:
        raise UserError(
            f"{out} was made by convert: go on with it by `velocity-ledger convert ... --resume`, "
            "and train others in another --out"
        )
    if start is None or recorded is None:
        return
    for name, value in start.record.items():
        if recorded.get(name) != value:
            was, now = (_shown(v) for v in (recorded.get(name), value))
            raise UserError(
                f"{out} was begun with {name} {was}, not {now}: resume with the same options, or "
                "choose another --out"
            )


def _shown(value: Any) -> str:
    return " ".join(map(str, value.values())) if isinstance(value, dict) else str(value)
