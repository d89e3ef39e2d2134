"""Preconditioners: what a direction is divided or multiplied by before it is taken."""

from velocity_ledger.integrators.preconditioner._base import Preconditioner as Preconditioner
from velocity_ledger.integrators.preconditioner._orthogonal import Orthogonal as Orthogonal
from velocity_ledger.integrators.preconditioner._right_root import RightRoot as RightRoot
from velocity_ledger.integrators.preconditioner._second_moment import SecondMoment as SecondMoment
