"""Phase space: a stream with a momentum of its own, moved by a field that returns both rates."""

from velocity_ledger.integrators.phase._damping import LogLinear as LogLinear
from velocity_ledger.integrators.phase._phase import Phase as Phase
from velocity_ledger.integrators.phase._rule import Clock as Clock, Rule as Rule
from velocity_ledger.integrators.phase._rules import (
    DampedAdamsBashforth2 as DampedAdamsBashforth2,
    DampedEuler as DampedEuler,
    DampedStrang as DampedStrang,
    ExponentialEuler as ExponentialEuler,
    PresymplecticEuler as PresymplecticEuler,
)
