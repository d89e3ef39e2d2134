"""Two coupled streams, each moved by what the field makes of the other."""

from typing import Any, ClassVar

from jaxtyping import Array

from velocity_ledger.integrators._contract import Context, Field, Info, Integrator, scalar
from velocity_ledger.integrators._value import Scalar


class Staggered(Integrator):
    """Symplectic Euler on a pair: every field reads one stream and writes to the other.

        p' = q + h f(p)
        q' = p
        p_0 = x_0
        q_0 = x_0

    With attention and MLP in turns, q gathers what attention makes of p and p what the MLP makes of
    q: the coupling of RevNets and Reformers, and the Hamiltonian form of Gal et al. (2025, arXiv
    2512.02056, equations 2.8 and 2.9). q starts at p_0. The position whose path is measured is the
    mean (p + q)/2; the head reads the stream that was written last. An exact inverse exists for
    every h: p is kept, and q = p' - h f(p).
    """

    invertible: ClassVar[bool] = True

    h: Scalar = 1.0

    def init(self, x0: Array, ctx: Context) -> tuple[Any, Any]:
        del ctx
        return (x0, x0), ()

    def step(self, field: Field, stream: Any, state: Any, ctx: Context) -> tuple[Any, Any, Info]:
        del ctx
        p, q = stream
        f = field(p)
        push = scalar(self.h, f) * f
        step = 0.5 * push
        return (q + push, p), state, Info(increment=f, raw_step=step, step=step)

    def position(self, stream: Any) -> Array:
        p, q = stream
        return 0.5 * (p + q)

    def readout(self, stream: Any, state: Any, ctx: Context) -> Array:
        del state, ctx
        return stream[0]
