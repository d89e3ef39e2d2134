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
    Coast,
    Cosine,
    DenseFormer,
    GatedTwoStage,
    Heun,
    HyperConnections,
    LedgerGain,
    LieTrotter,
    LookAhead,
    Manifold,
    Reduction,
    Separate,
    Static,
    Strang,
    Table,
    TangentSphere,
    TwoStage,
    Whole,
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


class MeanOfThePast(Integrator):
    """Every token hears the mean of itself and those before it, and does not say so."""

    def step(self, field, stream, state, ctx):
        f = field(stream)
        count = jnp.arange(1, f.shape[-2] + 1, dtype=f.dtype)[:, None]
        return told(stream, f + 0.1 * jnp.cumsum(f, -2) / count, state, f)


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


class NoiseForAllRows(Integrator):
    """What it draws has no axis of the batch: another one in each piece of a batch."""

    def step(self, field, stream, state, ctx):
        f = field(stream)
        step = f if ctx.key is None else f + jax.random.normal(ctx.key, f.shape[-1:], f.dtype)
        return told(stream, step, state, f)


class NoiseOfTwoStreams(Integrator):
    """Of what it draws the batch is the second axis."""

    def step(self, field, stream, state, ctx):
        f = field(stream)
        if ctx.key is None:
            return told(stream, f, state, f)
        step = f + jax.random.normal(ctx.key, (2, *f.shape), f.dtype).mean(0)
        return told(stream, step, state, f)


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


class _NeverBegins(HeavyBall):
    def update(self, field, x, state, ctx):
        f, mu = field(x), number(self.mu)
        v = mu * state + (1 - mu) * f
        return Impulse(v, f, v), v


def bootstrap_not_applied():
    """The midpoint rule whose first step is not Euler's."""
    return Composition(_NeverBegins(-1.0, start="bootstrap"), Flat(), Fixed(0.5), Whole())


class _NeverThere(Cosine):
    def value(self, name, x, ctx):
        way = jnp.asarray(ctx.index, jnp.float32) / ctx.total
        return self.last + (self.first - self.last) * 0.5 * (1 + jnp.cos(jnp.pi * way))


def cosine_never_there():
    """A cosine through depth that is not at its last number in the last sub-update."""
    return Composition(HeavyBall(_NeverThere(0.2, 0.8)), Flat(), Fixed())


class _OneLate(Table):
    def value(self, name, x, ctx):
        values = jnp.stack([jnp.asarray(v, jnp.float32) for v in self.values])
        return values[jnp.maximum(jnp.asarray(ctx.index) - 1, 0)]


def table_one_late():
    """A table of which every sub-update reads the number of the one before."""
    return Composition(HeavyBall(_OneLate((0.1, 0.9, 0.5, -0.5, 0.7, 0.2))), Flat(), Fixed())


class _OneForAll(Separate):
    def update(self, field, x, state, ctx):
        impulse, after = super().update(field, x, state, ctx)
        return impulse, dict.fromkeys(after, after[ctx.kind])


def one_velocity_for_all():
    """Two velocities that are always one and the same."""
    return Composition(_OneForAll(), Flat(), Fixed())


class _AgeOfAll(Separate):
    def update(self, field, x, state, ctx):
        impulse, mine = self.of.update(field, x, state[ctx.kind], ctx)
        first = jnp.asarray(ctx.index) == 0
        return impulse, {k: jnp.where(first, mine, v) for k, v in state.items()} | {ctx.kind: mine}


def starts_from_the_other():
    """The second kind's velocity starts from what the first kind's field gave."""
    return Composition(_AgeOfAll(), Flat(), Fixed())


class _CountsTheLast(Coast):
    def read(self, momentum, geometry, step_scale, stream, state, ctx):
        there = super().read(momentum, geometry, step_scale, stream, state, ctx)
        return geometry.move(there, step_scale.scale(state, ctx))[0]


def coasts_a_step_too_far():
    """v / (1 - mu) where mu / (1 - mu) v is left to coast."""
    return Composition(HeavyBall(), Flat(), Fixed(), reading=_CountsTheLast())


class _Swapped(TwoStage):
    def update(self, field, x, state, ctx):
        here = field(x)
        there = field(x + number(self.h) * here)
        own = ctx.parameters
        mixed = own["second"].astype(x.dtype) * here + own["first"].astype(x.dtype) * there
        return Impulse(mixed, mixed), state


def weights_swapped():
    """Two learned weights that start alike, each on the other's evaluation."""
    return Composition(_Swapped(), Flat(), Fixed(), Whole())


class _GatesTheOther(GatedTwoStage):
    def update(self, field, x, state, ctx):
        impulse, state = super().update(field, x, state, ctx)
        here = field(x)
        both = here + field(x + number(self.h) * here)
        mixed = both - impulse.direction
        return Impulse(mixed, mixed), state


def gate_of_the_other():
    """(1 - g) f1 + g f2: at its start, where the gate is 1/2, nothing shows."""
    return Composition(_GatesTheOther(), Flat(), Fixed(), Whole())


class AveragesAverages(DenseFormer):
    """What is kept of each block is the average that follows it, not its output."""

    def step(self, field, stream, state, ctx):
        new, state, info = super().step(field, stream, state, ctx)
        return new, state.at[ctx.index + 1].set(new), info


class DilatedFromTheStart(DenseFormer):
    """A dilation that keeps every r-th output counted from x_0, not from the block at hand."""

    dilation: int = 2
    period: int = 3
    h: float = 0.5

    def _row(self, ctx):
        i, j = ctx.index + 1, jnp.arange(ctx.total + 1)
        rows = self._rows(ctx.total)
        start = jnp.asarray(np.cumsum(rows) - rows)[ctx.index]
        kept = (j <= i) & (j % self.dilation == 0)
        learned = jnp.where(kept, ctx.parameters["average"][start + j // self.dilation], 0.0)
        return jnp.where(i % self.period == 0, learned, (j == i).astype(jnp.float32))


class _TransposedStatic(Static):
    def weights(self, streams, ctx):
        found = super().weights(streams, ctx)
        return found._replace(mix=found.mix.T)


def static_mixing_transposed():
    """Hyper-connections that mix by A_r where its transpose is meant: at A_r = I nothing shows."""
    return HyperConnections(_TransposedStatic())


class _TransposedManifold(Manifold):
    def weights(self, streams, ctx):
        found = super().weights(streams, ctx)
        return found._replace(mix=jnp.swapaxes(found.mix, -1, -2))


def manifold_mixing_transposed():
    """A doubly stochastic mixing, transposed: its rows and columns still sum to 1."""
    return HyperConnections(_TransposedManifold())


class _WritesOnce(Static):
    def weights(self, streams, ctx):
        return super().weights(streams, ctx)._replace(write=jnp.ones(self.streams))


def writes_once():
    """A learned writing that is never applied: it starts at 1, which it is held to be."""
    return HyperConnections(_WritesOnce())
