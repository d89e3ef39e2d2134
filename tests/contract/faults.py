"""Integrators that are wrong on purpose, each in one way: a file such as a user's own."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from velocity_ledger import (
    Alpha,
    Composition,
    Euler,
    Fixed,
    Flat,
    HeavyBall,
    Impulse,
    Info,
    Integrator,
    Parameter,
    Sphere,
    retract,
)
from velocity_ledger.integrators import (
    Heun,
    LedgerGain,
    LieTrotter,
    LookAhead,
    Reduction,
    Strang,
    TangentSphere,
)


def told(stream, step, state, f, velocity=None):
    return stream + step, state, Info(increment=f, raw_step=step, step=step, velocity=velocity)


def number(value: Any) -> Any:
    """A scalar that is no coefficient here."""
    return value


class Halves(Integrator):
    """Its number is not the one that was given."""

    h: float = 0.5

    def __post_init__(self):
        object.__setattr__(self, "h", self.h / 2)

    def step(self, field, stream, state, ctx):
        f = field(stream)
        return told(stream, self.h * f, state, f)


class Drifts(Integrator):
    """It moves where no field pushes."""

    def step(self, field, stream, state, ctx):
        f = field(stream)
        return told(stream, f + 1e-3, state, f)


class NeverUpdated(Integrator):
    """The velocity is kept, read and told, and never written."""

    mu: float = 0.9

    def init(self, x0, ctx):
        return x0, jnp.zeros_like(x0)

    def step(self, field, stream, state, ctx):
        f = field(stream)
        return told(stream, self.mu * state + f, state, f, velocity=state)


class _NoMemory(HeavyBall):
    def update(self, field, x, state, ctx):
        f, mu = field(x), number(self.mu)
        v = 0.0 * state + (1 - mu) * f
        return Impulse(v, f, v), v


def no_memory():
    """A velocity that is kept and never read."""
    return Composition(_NoMemory(), Flat(), Fixed())


class _IgnoresMu(HeavyBall):
    def update(self, field, x, state, ctx):
        f = field(x)
        v = 0.9 * state + 0.1 * f
        return Impulse(v, f, v), v


def ignores_mu():
    """mu is an argument of no consequence."""
    return Composition(_IgnoresMu(), Flat(), Fixed())


class _Unscaled(LedgerGain):
    def value(self, name, x, ctx):
        return jnp.asarray(self.h)


def ignores_depth():
    """A schedule through depth that is 1 throughout."""
    return Composition(Euler(), Flat(), Fixed(_Unscaled()))


class _GainOfTheSquare(HeavyBall):
    def update(self, field, x, state, ctx):
        f, mu = field(x), number(self.mu)
        v = mu * state + (1 - mu**2) * f
        return Impulse(v, f, v), v


def gain_of_the_square():
    """1 - mu^2 where 1 - mu belongs; at mu = 0 nothing shows."""
    return Composition(_GainOfTheSquare(), Flat(), Fixed())


class _LooksBehind(LookAhead):
    def update(self, field, x, state, ctx):
        f = field(x)
        v = number(self.beta) * state + number(self.gamma) * f
        return Impulse(v, f, v), v


def looks_behind():
    """The field is read where the stream is, not ahead of it."""
    return Composition(_LooksBehind(0.9, 0.9, 0.1), Flat(), Fixed())


class _Untransported(TangentSphere):
    def transport(self, x, memory):
        return memory


def untransported():
    """The velocity stays in the tangent space of where the stream was."""
    return Composition(HeavyBall(), _Untransported(), Alpha())


class _AlphaOfTheMean(Alpha):
    def scale(self, direction, ctx):
        return jnp.mean(ctx.parameters["alpha"]) * direction


def alpha_of_the_mean():
    """One step scale, the mean of those of all dimensions."""
    return Composition(Euler(), Flat(), _AlphaOfTheMean(0.1))


class TransposedMixing(Integrator):
    """Three streams are mixed by a permutation, transposed: rows and columns still sum to 1."""

    def init(self, x0, ctx):
        return jnp.stack([x0, x0, x0]), ()

    def step(self, field, stream, state, ctx):
        f = field(stream[0])
        mixing = jnp.asarray(np.roll(np.eye(3), 1, axis=1), stream.dtype)
        mixed = jnp.einsum("ji,j...->i...", mixing, stream)  # "ij" is meant
        new = mixed.at[1].add(f)
        step = self.position(new) - self.position(stream)
        return new, state, Info(increment=f, raw_step=step, step=step)

    def position(self, stream):
        return stream.mean(0)

    def reference(self, fields, x0, own):  # pyright: ignore
        del own
        stream = np.stack([x0, x0, x0])
        out = [x0]
        for field in fields:
            f = field(stream[0])
            stream = np.einsum("ij,j...->i...", np.roll(np.eye(3), 1, axis=1), stream)
            stream[1] += f
            out.append(stream.mean(0))
        return np.stack(out)


class _DoublePrecision(HeavyBall):
    def update(self, field, x, state, ctx):
        f, mu = field(x), number(self.mu)
        v = (mu * state + (1 - mu) * f).astype(jnp.float32)
        return Impulse(v, f, v), v


def double_precision():
    """A velocity that leaves the stream's dtype."""
    return Composition(_DoublePrecision(), Flat(), Fixed())


class NormAtZero(Integrator):
    """A norm without a guard: at 0 its value is right and its derivative is not a number."""

    def step(self, field, stream, state, ctx):
        f = field(stream)
        step = f / (1 + jnp.sqrt(jnp.sum(f * f, -1, keepdims=True)))
        return told(stream, step, state, f)


class KnowsTheLoop(Integrator):
    """It does otherwise where the index is a plain number, as in a loop."""

    def step(self, field, stream, state, ctx):
        f = field(stream)
        step = 0.5 * f if isinstance(ctx.index, int) and ctx.index > 0 else f
        return told(stream, step, state, f)


class NumberInTheProgram(Integrator):
    """A number is annotated as a count: each value is compiled anew."""

    h: int = 0.5  # pyright: ignore[reportAssignmentType]

    def step(self, field, stream, state, ctx):
        f = field(stream)
        return told(stream, self.h * f, state, f)


class BranchesOnANumber(Integrator):
    """A Python branch on a hyperparameter, which a compiled program cannot take."""

    h: float = 0.5

    def step(self, field, stream, state, ctx):
        f = field(stream)
        return told(stream, self.h * f if self.h > 0 else f, state, f)


class OnlyPlainNumbers(Integrator):
    """A number that is swept, traced or learned counts for 1."""

    h: float = 0.5

    def step(self, field, stream, state, ctx):
        f = field(stream)
        h = self.h if isinstance(self.h, float) else 0.8 + 0.1 * self.h
        return told(stream, h * f, state, f)


class NeverUsed(Integrator):
    """It declares a parameter and does not use it."""

    def parameters(self, width):
        return {"gain": Parameter((width,), 1.0)}

    def step(self, field, stream, state, ctx):
        f = field(stream)
        return told(stream, f, state, f)


class _IgnoresAlpha(Alpha):
    def scale(self, direction, ctx):
        return direction * jnp.ones_like(ctx.parameters["alpha"])


def alpha_not_applied():
    """The sphere without its learned step scale."""
    return Composition(Euler(), Sphere(), _IgnoresAlpha())


class EverySecond(Integrator):
    """Every second field is evaluated for nothing."""

    def step(self, field, stream, state, ctx):
        f = field(stream)
        step = jnp.where(jnp.asarray(ctx.index) % 2 == 0, f, 0)
        return told(stream, step, state, f)


class AnothersState(Integrator):
    """The velocity of a sample is the one of its neighbour in the batch."""

    mu: float = 0.9

    def init(self, x0, ctx):
        return x0, jnp.zeros_like(x0)

    def step(self, field, stream, state, ctx):
        f = field(stream)
        v = self.mu * jnp.roll(state, 1, axis=0) + (1 - self.mu) * f
        return told(stream, v, v, f, velocity=v)


class MeanOverTime(Integrator):
    """Every token hears the mean over all, those to come among them."""

    def step(self, field, stream, state, ctx):
        f = field(stream)
        step = f + 0.1 * f.mean(-2, keepdims=True)
        return told(stream, step, state, f)


class ReadsAhead(Integrator):
    """Every token hears which one comes next, from what the embedding read."""

    def step(self, field, stream, state, ctx):
        f = field(stream)
        step = f
        if ctx.inputs is not None:
            later = jnp.roll(jnp.asarray(ctx.inputs), -1, axis=-1)[..., None]
            step = f * (1 + 0.1 * later.astype(f.dtype))
        return told(stream, step, state, f)


class ReusesTheKey(Integrator):
    """Every sub-update drops the same outputs."""

    def step(self, field, stream, state, ctx):
        f = field.draw(None if field.key is None else jax.random.key(0))(stream)
        return told(stream, f, state, f)


class _NoRetraction(Sphere):
    def move(self, x, step):
        return x + step, step


def geometry_not_applied():
    """A sphere that is left by every step."""
    return Composition(Euler(), _NoRetraction(), Fixed())


class _ForgetsTheRetraction(Sphere):
    def move(self, x, step):
        return retract(x + step, self._radius(x)), step


def tells_the_step_before():
    """The step before the retraction is told as the realised one."""
    return Composition(Euler(), _ForgetsTheRetraction(), Fixed())


class WrongReduction(Integrator):
    """At mu = 0 a gain of .9 is left, and plain is declared."""

    reductions: ClassVar[Any] = (Reduction("mu=0", "plain"),)

    mu: float = 0.5

    def init(self, x0, ctx):
        return x0, jnp.zeros_like(x0)

    def step(self, field, stream, state, ctx):
        f = field(stream)
        v = self.mu * state + (0.9 - self.mu) * f
        return told(stream, v, v, f, velocity=v)


class _HalfWay(Heun):
    def update(self, field, x, state, ctx):
        first = field(x)
        second = field(x + 0.5 * self.h * first)
        mean = 0.5 * (first + second)
        return Impulse(mean, mean), state


def wrong_order():
    """Heun's rule with its second field read halfway: of first order, the second is declared."""
    return Composition(_HalfWay(), Flat(), Fixed())


class _DropsTheMLP(LieTrotter):
    def arrange(self, fields):
        return fields["attention"], fields["attention"]


def drops_the_mlp():
    """A layer whose MLP is never run."""
    return Composition(Euler(), Flat(), Fixed(), _DropsTheMLP())


class _TwoAndOne(Strang):
    def arrange(self, fields):
        before, attention, _ = super().arrange(fields)
        return before, attention, fields["mlp"]


def uneven_halves():
    """Strang's splitting whose second half is a whole: of first order, the second is declared."""
    return Composition(Euler(), Flat(), Fixed(), _TwoAndOne())
