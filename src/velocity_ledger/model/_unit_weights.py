"""Matrices on the sphere: unit vectors along the width."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp

from velocity_ledger.integrators import retract

# Which axis of a matrix runs along the width; from the end, so that stacked layers have the same.
# Shapes do not tell: a query's kernel is square.
_READS, _WRITES = -2, -1
AXES = {
    ("token", "embedding"): _WRITES,
    ("position", "embedding"): _WRITES,
    ("query", "kernel"): _READS,
    ("key", "kernel"): _READS,
    ("value", "kernel"): _READS,
    ("out", "kernel"): _WRITES,
    ("up", "kernel"): _READS,
    ("gate", "kernel"): _READS,
    ("down", "kernel"): _WRITES,
    ("head", "kernel"): _READS,
}
"""The matrices of the model, and the axis of each that runs along the width."""


def unit_weights(params: Any) -> Any:
    """Return the parameters with every matrix's vectors along the width at length 1.

        w -> w / |w|

    with no epsilon, in float32: what is read of the stream is compared with unit vectors, what is
    written to it is a sum of unit vectors (Loshchilov et al. 2024, arXiv 2410.01131). A kernel
    [in, out] that reads the stream is normalised along in, one that writes to it along out, a table
    along its last axis. Vectors, such as scales and biases, stay as they are; so does what an
    integrator learns. `params` is a nested dict or an NNX state.
    """

    def one(path: Any, leaf: Any) -> Any:
        axis = _axis(path)
        if axis is None:
            return leaf
        return jnp.moveaxis(retract(jnp.moveaxis(leaf, axis, -1), 1.0), -1, axis)

    return jax.tree_util.tree_map_with_path(one, params)


def _axis(path: Any) -> int | None:
    names = [str(getattr(step, "key", getattr(step, "name", step))) for step in path]
    if "integrator" in names or "learned" in names:
        return None
    return next((AXES[pair] for pair in itertools.pairwise(names) if pair in AXES), None)
