"""Geometry: the space the stream moves in, and how a step is written to it."""

from velocity_ledger.integrators.geometry._base import Geometry as Geometry
from velocity_ledger.integrators.geometry._flat import Flat as Flat
from velocity_ledger.integrators.geometry._sphere import Sphere as Sphere, retract as retract
from velocity_ledger.integrators.geometry._tangent import TangentSphere as TangentSphere
from velocity_ledger.integrators.geometry._target import TargetSphere as TargetSphere
