"""An integrator made of one choice on each axis."""

import dataclasses as dc
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
from jaxtyping import Array

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Field, Info, Integrator, Parameter
from velocity_ledger.integrators.geometry import Flat, Geometry
from velocity_ledger.integrators.momentum import Euler, Momentum
from velocity_ledger.integrators.reading import Position, Reading
from velocity_ledger.integrators.splitting import LieTrotter, Splitting
from velocity_ledger.integrators.step_scale import Fixed, StepScale


@dc.dataclass(frozen=True)
class _Pulled:
    """A field's function whose output is read in a geometry; comparable, and closes over nothing.

    The fence keeps the field's own program apart from what is made of its output.
    """

    apply: Callable[[Any, Any, Any], Any]

    def __call__(self, params: Any, x: Any, key: Any) -> Any:
        own, geometry = params
        return geometry.pull(x, jax.lax.optimization_barrier(self.apply(own, x, key)))


class Composition(Integrator):
    """Momentum, geometry, step scale and splitting, combined.

        direction, state = momentum(x -> geometry.pull(x, field(x)), x, state)
        x' = geometry.move(x, step_scale(direction))
        state = geometry.transport(x', state)
        the head reads reading(x_n, state)

    Every named variant is such a value. Parts that cannot work together are refused:

    - a reading that coasts, where the momentum has no velocity, a normalised or a debiased one, or
      one that never fades;
    - a momentum that reads a field elsewhere than at the stream (look-ahead, Runge-Kutta), on a
      curved geometry, which such points leave;
    - Runge-Kutta stages of another step than the one that is taken;
    - separate memories, where a layer has only one kind of sub-update.

    Raises `UserError`, one sentence that says which and why. What works but is weaker than it
    looks is in `notes`.
    """

    momentum: Momentum = Euler()
    geometry: Geometry = Flat()
    step_scale: StepScale = Fixed()
    splitting: Splitting = LieTrotter()  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]
    reading: Reading = Position()

    def __post_init__(self) -> None:
        for name, axis in (
            ("momentum", Momentum),
            ("geometry", Geometry),
            ("step_scale", StepScale),
            ("splitting", Splitting),
            ("reading", Reading),
        ):
            if not isinstance(getattr(self, name), axis):
                raise UserError(
                    f"a composition's {name} is a {axis.__name__}, got {getattr(self, name)!r}:"
                    " write compose(momentum, geometry, step_scale, splitting, reading)"
                )
        reason = self._impossible()
        if reason:
            raise UserError(reason)

    def _impossible(self) -> str:
        momentum, geometry, splitting = self.momentum, self.geometry, self.splitting
        name = type(momentum).__name__
        if self.reading.coasts and momentum.uncoasted:
            return f"nothing can be read by coasting here: {momentum.uncoasted}"
        if momentum.ahead and geometry.curved:
            return (
                f"{name} reads its field at points off the {type(geometry).__name__}: use flat(),"
                " or a momentum that reads the stream where it is"
            )
        if _differ(momentum.inner_step, self.step_scale.uniform):
            return (
                f"{name} makes its stages for a step of {momentum.inner_step}, the step scale takes"
                f" {self.step_scale.uniform}: give both the same h"
            )
        if momentum.per_kind and len(set(splitting.kinds)) < 2:
            return (
                f"{type(splitting).__name__} has one kind of sub-update, whose memory is shared as"
                " it is: leave separate out"
            )
        return ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is weaker than the parts' names say, one sentence each."""
        momentum, splitting = self.momentum, self.splitting
        found = []
        order = momentum.order(self.step_scale.uniform) or 1
        if splitting.order is not None and order > splitting.order:
            found.append(
                f"{type(momentum).__name__} is of order {order} for one field, but"
                f" {type(splitting).__name__} of order {splitting.order} for a layer's sum"
            )
        mixed = momentum.remembers and not momentum.per_kind and len(set(splitting.kinds)) > 1
        if order > 1 and mixed:
            found.append(
                f"{type(momentum).__name__} extrapolates from one kind of field to another:"
                " separate() keeps them apart"
            )
        return tuple(found)

    @property
    def pre_norm(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the fields normalise the stream that they read; the geometry decides."""
        return self.geometry.pre_norm

    @property
    def evaluations(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How often one step evaluates its field; the momentum decides."""
        return self.momentum.evaluations

    @property
    def invertible(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether a step can be undone from its stream and state, given the fields."""
        return self.momentum.invertible and self.geometry.invertible

    @property
    def rests(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether zero fields leave a stream without a velocity where it is."""
        return self.momentum.rests

    @property
    def amplifies(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether a step can enlarge rounding a hundredfold; the momentum decides."""
        return self.momentum.amplifies

    @property
    def per_kind(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether sub-updates of different kinds have memories of their own; the momentum's."""
        return self.momentum.per_kind

    @property
    def order(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The momentum's, where the geometry adds its steps and they are all scaled alike."""
        h = self.step_scale.uniform
        return self.momentum.order(h) if self.geometry.adds and h is not None else None

    def constraint(self, x: Array) -> Any:
        return self.geometry.constraint(x)

    def parameters(self, width: int) -> dict[str, Parameter]:
        return self.momentum.parameters(width) | self.step_scale.parameters(width)

    def init(self, x0: Array, ctx: Context) -> tuple[Any, Any]:
        x = self.geometry.start(x0)
        return x, self.momentum.init(x, ctx)

    def push(self, x: Array, increment: Array) -> Array:
        return self.geometry.push(x, increment)

    def step(self, field: Field, stream: Any, state: Any, ctx: Context) -> tuple[Any, Any, Info]:
        pulled = Field((field.params, self.geometry), field.key, _Pulled(field.apply))
        impulse, state = self.momentum.update(pulled, stream, state, ctx)
        proposed = self.step_scale.scale(impulse.direction, ctx)
        stream, realised = self.geometry.move(stream, proposed)
        state = self.momentum.transport(state, partial(self.geometry.transport, stream))
        info = Info(
            increment=impulse.increment,
            raw_step=proposed,
            step=realised,
            velocity=impulse.velocity,
        )
        return stream, state, info

    def readout(self, stream: Any, state: Any, ctx: Context) -> Array:
        return self.reading.read(self.momentum, self.geometry, self.step_scale, stream, state, ctx)


def _differ(a: Any, b: Any) -> bool:
    """Whether two steps are plain numbers and not the same."""
    known = isinstance(a, (int, float)) and isinstance(b, (int, float))
    return known and a != b
