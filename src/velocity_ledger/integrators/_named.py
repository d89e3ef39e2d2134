"""The named compositions; each is one expression over the axes."""

from velocity_ledger.integrators._composition import Composition
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.coefficient import Drawn, Learned, LedgerGain, Number, Signs
from velocity_ledger.integrators.geometry import Flat, Sphere, TangentSphere, TargetSphere
from velocity_ledger.integrators.momentum import (
    AdamsBashforth2,
    Euler,
    GatedTwoStage,
    HeavyBall,
    Heun,
    LookAhead,
    RungeKutta4,
    Separate,
    TwoStage,
)
from velocity_ledger.integrators.reading import Coast
from velocity_ledger.integrators.splitting import Macaron, Parallel, Strang, Whole
from velocity_ledger.integrators.step_scale import Alpha, Fixed

LN2 = 0.6931472
"""What a softplus gives for a raw parameter of 0."""


def plain(h: Number = 1.0) -> Composition:
    """The pre-norm block, forward Euler: `x += h f(norm x)`. With h < 1, damped Euler."""
    return Composition(Euler(), Flat(), Fixed(h))


def ledger(
    mu: Number = 0.9,
    h: Number = 1.0,
    damped: bool = True,
    debias: bool = False,
    start: str = "zero",
) -> Composition:
    """The velocity ledger, heavy ball: `v = mu v + (1 - mu) f(norm x); x += h v`."""
    return Composition(HeavyBall(mu, damped, debias, start), Flat(), Fixed(h))


def ngpt_lite(alpha: Scalar = 1.0, h: Scalar = 1.0, radius: Scalar | None = None) -> Composition:
    """Euler on a sphere with a learned step scale: `x = retract(x + h alpha f(x))`."""
    return Composition(Euler(), Sphere(radius), Alpha(alpha, h))


def ngpt_ledger(
    mu: Number = 0.9,
    h: Scalar = 1.0,
    alpha: Scalar = 1.0,
    damped: bool = True,
    debias: bool = False,
    radius: Scalar | None = None,
) -> Composition:
    """The ledger on a sphere: `v = mu v + (1 - mu) f(x); x = retract(x + h alpha v)`."""
    return Composition(HeavyBall(mu, damped, debias), Sphere(radius), Alpha(alpha, h))


def split_ledger(
    mu: Number = 0.9,
    h: Number = 1.0,
    damped: bool = True,
    debias: bool = False,
    start: str = "zero",
) -> Composition:
    """The ledger with a velocity each for attention and MLP: `v_a = mu v_a + (1 - mu) a(x)`."""
    return Composition(Separate(HeavyBall(mu, damped, debias, start)), Flat(), Fixed(h))


def coasting_ledger(mu: Number = 0.9, h: Number = 1.0, damped: bool = True) -> Composition:
    """The ledger read where its velocity would still carry it: `x_n + h mu/(1 - mu) v_n`."""
    return Composition(HeavyBall(mu, damped), Flat(), Fixed(h), reading=Coast())


def damped_euler(
    mu: Scalar = 0.9, h: Scalar = 1.0, damped: bool = True, debias: bool = False
) -> Composition:
    """Euler with the per-block gain of a ledger, its control: `x += h (1 - mu^(n-k)) f_k`."""
    return Composition(Euler(), Flat(), Fixed(LedgerGain(mu, h, damped, debias)))


def rezero(start: Scalar = 0.0) -> Composition:
    """Euler with a learned step scale a sub-update that starts at 0: `x += h_k f`."""
    return Composition(Euler(), Flat(), Fixed(Learned(start, "identity")))


def layer_scale(alpha: Scalar = 0.1) -> Composition:
    """Euler with a learned step scale per dimension that starts small: `x += alpha f`."""
    return Composition(Euler(), Flat(), Alpha(alpha))


def learned_ledger(mu: Scalar = 0.9, per: str = "sub_update") -> Composition:
    """The ledger with a learned mu for every sub-update: `v = mu_k v + (1 - mu_k) f; x += v`.

    `per` is sub_update, layer or model.
    """
    return Composition(HeavyBall(Learned(mu, per=per)), Flat(), Fixed())


def nesterov(mu: Scalar = 0.9, gamma: Scalar = 0.1, h: Scalar = 1.0) -> Composition:
    """Look ahead along the velocity: `v = mu v + gamma f(x + mu v); x += h v`."""
    return Composition(LookAhead(mu, mu, gamma), Flat(), Fixed(h))


def yuriiformer(
    start: Scalar = 0.5, gain: Scalar = LN2, norm_per: str = "layer", velocity: str = "zero"
) -> Composition:
    """Learned Nesterov: `v = LN(beta v + gamma f(x + mu v)); x += v`.

    The paper's starts could not be confirmed. The defaults are those of Gai et al. with the norm
    that a summary of the paper describes, one a layer; they use one a half-step
    (`norm_per="sub_update"`), Stein et al. start at .9 and 1 (`start=.9, gain=1`). As published the
    velocity starts from learned tables (`velocity="tokens"`).
    """
    momentum = LookAhead(
        Learned(start), Learned(start), Learned(gain, "softplus"), "overwrite", norm_per, velocity
    )
    return Composition(momentum, Flat(), Fixed())


def hbformer(
    start: Scalar = 0.5, gain: Scalar = LN2, norm_per: str = "sub_update", velocity: str = "zero"
) -> Composition:
    """Learned heavy ball: `v = LN(beta v + gamma f(x)); x += v`.

    As published the velocity starts from learned tables (`velocity="tokens"`).
    """
    momentum = LookAhead(
        0.0, Learned(start), Learned(gain, "softplus"), "overwrite", norm_per, velocity
    )
    return Composition(momentum, Flat(), Fixed())


def tmmformer(
    start: Scalar = 0.5,
    gain: Scalar = LN2,
    nu: Scalar = 1.0,
    norm_per: str = "sub_update",
    velocity: str = "zero",
) -> Composition:
    """Learned triple momentum: `v = LN(beta v + gamma f(x + mu v)); x += nu v`.

    As published the velocity starts from learned tables (`velocity="tokens"`).
    """
    momentum = LookAhead(
        Learned(start), Learned(start), Learned(gain, "softplus"), "overwrite", norm_per, velocity
    )
    return Composition(momentum, Flat(), Fixed(Learned(nu, "softplus")))


def polyak_shear(
    start: Scalar = 0.9, gain: Scalar = 1.0, eta: Scalar = 1.0, velocity: str = "zero"
) -> Composition:
    """Heavy ball read through a norm: `v = beta v + gamma f(x); x += eta LN(v)`.

    As published the velocity starts from learned tables (`velocity="tokens"`).
    """
    momentum = LookAhead(0.0, Learned(start), Learned(gain, "softplus"), "read", "layer", velocity)
    return Composition(momentum, Flat(), Fixed(Learned(eta, "softplus")))


def adams_bashforth(h: Scalar = 1.0) -> Composition:
    """Two-step extrapolation: `x += h (3/2 f_k - 1/2 f_(k-1))`."""
    return Composition(AdamsBashforth2(), Flat(), Fixed(h))


def leapfrog(h: Scalar = 1.0, start: str = "zero") -> Composition:
    """The second-order recursion `x_(k+1) = 2 x_k - x_(k-1) + h^2 f_k`, an undamped mu of 1.

    x_(-1) = x_0; or, by a `bootstrap`, x_1 = x_0 + h f_0. The paper does not say which.
    """
    return Composition(LookAhead(0.0, 1.0, h, start=start), Flat(), Fixed(h), Whole())


def midpoint(h: Scalar = 0.5, start: str = "zero") -> Composition:
    """The two-step midpoint rule `x_(k+1) = x_(k-1) + 2 h f_k`, a mu of -1.

    x_(-1) = x_0; or, by a `bootstrap`, x_1 = x_0 + h f_0, with which it is of order 2. The paper
    does not say which, and its h could not be confirmed.
    """
    return Composition(HeavyBall(-1.0, start=start), Flat(), Fixed(h), Whole())


def midpoint_a(h: Scalar = 1.0, centre: Scalar = 1.0, spread: Scalar = 0.5) -> Composition:
    """Midpoint with a random weight a layer: `x_(k+1) = a x_(k-1) + (1 - a) x_k + h f_k`.

    Undone by x_(k-1) = (x_(k+1) - (1 - a) x_k - h f_k) / a, since a = -mu is drawn once for all.
    The paper's h could not be confirmed, nor its first step: here x_(-1) = x_0.
    """
    return Composition(HeavyBall(Drawn(centre, spread), damped=False), Flat(), Fixed(h), Whole())


def bdia(gamma: Scalar = 0.5, h: Scalar = 1.0) -> Composition:
    """A ledger of random sign in training: `v = mu v + (1 - mu) f; x += h v`, mu = +-gamma.

    x_(k+1) = g x_(k-1) + (1 - g) x_k + (1 + g) f_k with g = -mu, drawn for every sample and block;
    the first block, and evaluation, are plain. The paper also rounds the stream to a grid of 2^-9
    and keeps a bit a block, by which a block is undone exactly: that is left out here.
    """
    return Composition(HeavyBall(Signs(gamma)), Flat(), Fixed(h), Whole())


def heun(h: Scalar = 1.0) -> Composition:
    """Heun's rule: `x += h/2 (f(x) + f(x + h f(x)))`."""
    return Composition(Heun(h), Flat(), Fixed(h), Whole())


def rk4(h: Scalar = 1.0) -> Composition:
    """The classical Runge-Kutta rule of order 4."""
    return Composition(RungeKutta4(h), Flat(), Fixed(h), Whole())


def ode_rk2() -> Composition:
    """Two evaluations with learned weights that start at 1: `x += g1 f(x) + g2 f(x + f(x))`."""
    return Composition(TwoStage(), Flat(), Fixed(), Whole())


def gated_rk2() -> Composition:
    """Two evaluations mixed by a gate, one number a token: `x += g f1 + (1 - g) f2`."""
    return Composition(GatedTwoStage(), Flat(), Fixed(), Whole())


def riemannian_ledger(
    mu: Number = 0.9, h: Scalar = 1.0, alpha: Scalar = 1.0, radius: Scalar | None = None
) -> Composition:
    """The ledger on a sphere with tangent forces and transported velocity."""
    return Composition(HeavyBall(mu), TangentSphere(radius), Alpha(alpha, h))


def ngpt_step(
    alpha: Scalar = 0.05,
    h: Scalar = 1.0,
    radius: Scalar | None = None,
    absolute: bool = True,
    rescaled: bool = True,
) -> Composition:
    """nGPT's update alone: `x = norm(x + |alpha| (norm(f(x)) - x))`.

    nGPT's own blocks read a stream of radius 1; without one it is sqrt(width), which other blocks
    expect of what they read.
    """
    return Composition(Euler(), TargetSphere(radius), Alpha(alpha, h, absolute, rescaled))


def parallel(h: Number = 1.0) -> Composition:
    """Both fields of a layer read one state: `x += h (a(x) + m(x))`."""
    return Composition(Euler(), Flat(), Fixed(h), Parallel())


def strang(h: Number = 1.0) -> Composition:
    """Half an MLP, attention, half the same MLP, forward Euler each."""
    return Composition(Euler(), Flat(), Fixed(h), Strang())


def macaron(h: Number = 1.0) -> Composition:
    """Half an MLP, attention, half of another MLP, forward Euler each."""
    return Composition(Euler(), Flat(), Fixed(h), Macaron())
