"""How a cell trains on from its best weights, without JAX: the command line reads it."""

import dataclasses as dc

from velocity_ledger.training._config import TrainingConfig


def continued(training: TrainingConfig) -> TrainingConfig:
    """Return how a converted cell trains unless told otherwise, given how its run trained.

    As its run did, but for patience: the same steps, batch and measurements, and the same rates,
    since the optimizer begins anew and its warm-up with it.
    """
    return dc.replace(training, patience=None)
