"""How a cell trains on from its best weights, without JAX: the command line reads it."""

import dataclasses as dc
from collections.abc import Mapping
from typing import Any

from velocity_ledger.experiment import _own
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._manifest import config_from_dict
from velocity_ledger.experiment._trials import at_rate
from velocity_ledger.training._config import TrainingConfig


def trained(manifest: Mapping[str, Any], variant: str) -> ExperimentConfig:
    """Return the configuration that the cells of a recorded variant were trained with.

    The run's, with the variant's own settings and the rate that a sweep found for it. `variant` is
    its text form as the manifest holds it.
    """
    record = next(v for v in manifest["variants"] if v["text"] == variant)
    config = _own.configure(config_from_dict(manifest["configuration"]), _own.recorded(record))
    rate = record.get("peak_rate")
    if rate is None:
        return config
    return dc.replace(config, training=at_rate(config.training, rate))


def variant_of(manifest: Mapping[str, Any], cell: str) -> str | None:
    """Return the recorded variant that a cell's name, `plain/0`, means; None for none."""
    name = cell.rpartition("/")[0]
    for record in manifest["variants"]:
        if name in (record["text"], record.get("slug")):
            return record["text"]
    from velocity_ledger.experiment._load import canonical  # which needs JAX

    name = canonical(name)
    return name if name in (record["text"] for record in manifest["variants"]) else None


def continued(training: TrainingConfig) -> TrainingConfig:
    """Return how a converted cell trains unless told otherwise, given how it was trained.

    As it was, but for patience: the same steps, batch and measurements, and the same rates, since
    the optimizer begins anew and its warm-up with it.
    """
    return dc.replace(training, patience=None)
