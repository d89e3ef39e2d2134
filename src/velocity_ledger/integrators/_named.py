"""The named compositions; each is one expression over the axes."""

from velocity_ledger.integrators._composition import Composition
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.geometry import Flat, Sphere
from velocity_ledger.integrators.momentum import Euler, HeavyBall
from velocity_ledger.integrators.step_scale import Alpha, Fixed


def plain(h: Scalar = 1.0) -> Composition:
    """The pre-norm block, forward Euler: `x += h f(norm x)`. With h < 1, damped Euler."""
    return Composition(Euler(), Flat(), Fixed(h))


def ledger(
    mu: Scalar = 0.9, h: Scalar = 1.0, damped: bool = True, debias: bool = False
) -> Composition:
    """The velocity ledger, heavy ball: `v = mu v + (1 - mu) f(norm x); x += h v`."""
    return Composition(HeavyBall(mu, damped, debias), Flat(), Fixed(h))


def ngpt_lite(alpha: Scalar = 1.0, h: Scalar = 1.0, radius: Scalar | None = None) -> Composition:
    """Euler on a sphere with a learned step scale: `x = retract(x + h alpha f(x))`."""
    return Composition(Euler(), Sphere(radius), Alpha(alpha, h))


def ngpt_ledger(
    mu: Scalar = 0.9,
    h: Scalar = 1.0,
    alpha: Scalar = 1.0,
    damped: bool = True,
    debias: bool = False,
    radius: Scalar | None = None,
) -> Composition:
    """The ledger on a sphere: `v = mu v + (1 - mu) f(x); x = retract(x + h alpha v)`."""
    return Composition(HeavyBall(mu, damped, debias), Sphere(radius), Alpha(alpha, h))
