"""Coefficients: the scalars of an update where they are more than one fixed number."""

from velocity_ledger.integrators.coefficient._base import (
    Coefficient as Coefficient,
    Number as Number,
    contracts as contracts,
    declare as declare,
    evaluate as evaluate,
    held as held,
    vanishes as vanishes,
)
from velocity_ledger.integrators.coefficient._depth import (
    Cosine as Cosine,
    LedgerGain as LedgerGain,
    Linear as Linear,
    Table as Table,
)
from velocity_ledger.integrators.coefficient._drawn import Drawn as Drawn, Signs as Signs
from velocity_ledger.integrators.coefficient._learned import Learned as Learned
