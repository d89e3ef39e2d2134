"""Splitting: which sub-updates a layer is cut into."""

from velocity_ledger.integrators.splitting._base import Splitting as Splitting
from velocity_ledger.integrators.splitting._lie_trotter import LieTrotter as LieTrotter
from velocity_ledger.integrators.splitting._parallel import Parallel as Parallel
from velocity_ledger.integrators.splitting._strang import Macaron as Macaron, Strang as Strang
from velocity_ledger.integrators.splitting._whole import Whole as Whole
