"""How a cell is trained on from its best weights, without JAX: the command line reads it."""

import dataclasses as dc

from velocity_ledger.training._config import TrainingConfig


def continued(training: TrainingConfig) -> TrainingConfig:
    """Return how a converted cell trains unless told otherwise.

    Steps, batch and measurements are those of its run. The learning rate rises from 0 over the
    run's warm-up, since the optimizer begins anew, and falls as the run's did.
    """
    return dc.replace(training, patience=None)
