"""An integrator made of one choice on each axis."""

import dataclasses as dc
from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import Array

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Field, Info, Integrator, Parameter
from velocity_ledger.integrators.geometry import Flat, Geometry
from velocity_ledger.integrators.momentum import Euler, Momentum
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

    Every named variant is such a value.
    """

    momentum: Momentum = Euler()
    geometry: Geometry = Flat()
    step_scale: StepScale = Fixed()
    splitting: Splitting = LieTrotter()  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    def __post_init__(self) -> None:
        for name, axis in (
            ("momentum", Momentum),
            ("geometry", Geometry),
            ("step_scale", StepScale),
            ("splitting", Splitting),
        ):
            if not isinstance(getattr(self, name), axis):
                raise UserError(
                    f"a composition's {name} is a {axis.__name__}, got {getattr(self, name)!r}:"
                    " write compose(momentum, geometry, step_scale, splitting)"
                )

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

    def step(self, field: Field, stream: Any, state: Any, ctx: Context) -> tuple[Any, Any, Info]:
        pulled = Field((field.params, self.geometry), field.key, _Pulled(field.apply))
        impulse, state = self.momentum.update(pulled, stream, state, ctx)
        proposed = self.step_scale.scale(impulse.direction, ctx)
        stream, realised = self.geometry.move(stream, proposed)
        state = jax.tree.map(lambda memory: self.geometry.transport(stream, memory), state)
        info = Info(
            increment=impulse.increment,
            raw_step=proposed,
            step=realised,
            velocity=impulse.velocity,
        )
        return stream, state, info
