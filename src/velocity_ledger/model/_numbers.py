"""The numbers of a model's integrator, changed without building another model."""

from typing import Any

import jax
from flax import nnx

from velocity_ledger.integrators import Integrator
from velocity_ledger.model._gpt import Hyperparameter


def with_numbers(rest: Any, integrator: Integrator) -> Any:
    """Return what of a split GPT is no parameter, with the numbers of another integrator.

        graphdef, params, rest = nnx.split(model, nnx.Param, ...)
        nnx.merge(graphdef, params, with_numbers(rest, ledger(mu=0.5)))

    Raises `ValueError` unless the integrator has as many numbers as the model's own, which must be
    of its structure.
    """
    leaves = jax.tree.leaves(integrator)
    flat = nnx.to_flat_state(rest)
    own = [path for path, variable in flat if isinstance(variable, Hyperparameter)]
    if len(own) != len(leaves):
        raise ValueError(f"{integrator} has {len(leaves)} numbers, the model {len(own)}")
    return nnx.from_flat_state(
        [
            # The path ends in the number's place among the integrator's leaves.
            (path, variable.replace(leaves[int(str(path[-1]))]) if path in own else variable)
            for path, variable in flat
        ]
    )
