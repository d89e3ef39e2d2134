"""Reading: what the head reads after the last sub-update."""

from velocity_ledger.integrators.reading._base import Reading as Reading
from velocity_ledger.integrators.reading._coast import Coast as Coast
from velocity_ledger.integrators.reading._position import Position as Position
