"""Streams: integrators whose stream is several positions, or all that there have been."""

from velocity_ledger.integrators.streams._connection import (
    Connection as Connection,
    Weights as Weights,
)
from velocity_ledger.integrators.streams._dense import DenseFormer as DenseFormer
from velocity_ledger.integrators.streams._dynamic import Dynamic as Dynamic
from velocity_ledger.integrators.streams._hyper import HyperConnections as HyperConnections
from velocity_ledger.integrators.streams._manifold import Manifold as Manifold
from velocity_ledger.integrators.streams._named import (
    dynamic_hyper_connections as dynamic_hyper_connections,
    hyper_connections as hyper_connections,
    manifold_hyper_connections as manifold_hyper_connections,
)
from velocity_ledger.integrators.streams._sinkhorn import sinkhorn as sinkhorn
from velocity_ledger.integrators.streams._static import Static as Static
