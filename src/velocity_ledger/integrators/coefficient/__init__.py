"""Coefficients: the scalars of an update where they are more than one fixed number."""

from velocity_ledger.integrators.coefficient._base import (
    Coefficient as Coefficient,
    Number as Number,
    declare as declare,
    evaluate as evaluate,
    held as held,
)
from velocity_ledger.integrators.coefficient._depth import (
    LedgerGain as LedgerGain,
    Linear as Linear,
)
from velocity_ledger.integrators.coefficient._drawn import Drawn as Drawn, Signs as Signs
from velocity_ledger.integrators.coefficient._learned import Learned as Learned
