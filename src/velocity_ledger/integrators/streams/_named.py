"""Connections of several streams that have a name."""

from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.streams._dynamic import Dynamic
from velocity_ledger.integrators.streams._hyper import HyperConnections
from velocity_ledger.integrators.streams._manifold import Manifold
from velocity_ledger.integrators.streams._static import Static


def hyper_connections(streams: int = 4, h: Scalar = 1.0) -> HyperConnections:
    """Several streams with learned weights: `H_i = sum_j A_ji H_j + B_i f(sum_i m_i H_i)`."""
    return HyperConnections(Static(streams), h)


def dynamic_hyper_connections(
    streams: int = 4, h: Scalar = 1.0, scale: Scalar = 0.01
) -> HyperConnections:
    """Hyper-connections whose weights each token adds to: `A = A_0 + s tanh(norm(H) W)`."""
    return HyperConnections(Dynamic(streams, scale), h)


def manifold_hyper_connections(
    streams: int = 4,
    h: Scalar = 1.0,
    iterations: int = 20,
    scale: Scalar = 0.01,
    sharpness: Scalar = 8.0,
) -> HyperConnections:
    """Several streams mixed by a doubly stochastic matrix: `H_i = sum_j R_ij H_j + w_i f`."""
    return HyperConnections(Manifold(streams, iterations, scale, sharpness), h)
