"""What a run is told apart by: a resumed one must be the one that was saved."""

import dataclasses as dc
import hashlib
import json
from typing import Any

import numpy as np

from velocity_ledger.errors import UserError
from velocity_ledger.training._anneal import Anneal
from velocity_ledger.training._config import TrainingConfig
from velocity_ledger.training._run import Data


def identity(
    model: Any, data: Data, config: TrainingConfig, seed: int, anneal: Anneal | None
) -> dict[str, Any]:
    """Return settings, seed, model and data of a run by name, as JSON gives them back."""
    found = {**dc.asdict(config), "seed": seed, **_model_identity(model)}
    found["anneal"] = None if anneal is None else _told(anneal)
    for name, ids in (("train", data.train), ("val", data.val)):
        found[f"{name}_ids"] = hashlib.sha256(ids.astype(np.int32).tobytes()).hexdigest()
    return _from_json(found)


def check_identity(
    saved: dict[str, Any], wanted: dict[str, Any], config: TrainingConfig, model: Any
) -> None:
    """Raise `UserError` where a saved run is not the one that is wanted."""
    # An older version saved fewer names: its runs had what is now the default.
    defaults = _defaults(config, model)
    for name, value in wanted.items():
        was = saved.get(name, defaults.get(name))
        if was != value:
            raise UserError(
                f"the checkpoint was saved with another {name} ({was}, not {value}): resume with "
                "the run's own, or choose another folder"
            )


def _told(anneal: Anneal) -> str:
    return f"{anneal.start} to {anneal.end} over {anneal.steps} steps, {anneal.shape}"


def _model_identity(model: Any) -> dict[str, Any]:
    """What the shapes of a model's parameters do not tell: another rate, another integrator."""
    config = getattr(model, "config", None)
    found: dict[str, Any] = {}
    if dc.is_dataclass(config) and not isinstance(config, type):
        found = {f"model.{name}": value for name, value in dc.asdict(config).items()}
    integrator = getattr(model, "integrator", None)
    return found if integrator is None else {**found, "integrator": str(integrator)}


def _defaults(config: TrainingConfig, model: Any) -> dict[str, Any]:
    """What a setting was before there was a choice, by the names of an identity."""
    found: dict[str, Any] = {}
    for prefix, settings in (("", config), ("model.", getattr(model, "config", None))):
        if dc.is_dataclass(settings):
            found |= {f"{prefix}{f.name}": f.default for f in dc.fields(settings)}
    return _from_json(found)


def _from_json(found: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(found, default=str))
