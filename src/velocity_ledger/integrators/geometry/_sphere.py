"""The sphere: after every step the stream is retracted to a fixed radius."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.geometry._base import Geometry


def retract(
    x: Float[Array, "*batch width"], radius: Scalar | Float[Array, ""]
) -> Float[Array, "*batch width"]:
    """Scale each vector to the given norm: `radius * x / |x|`.

    Computed in float32 on vectors scaled by their largest entry, so neither tiny nor huge ones
    lose their direction. The zero vector has none: it stays zero, with a finite gradient.
    """
    z = x.astype(jnp.float32)
    # The result does not depend on the scale, so its gradient need not see it.
    largest = jax.lax.stop_gradient(jnp.max(jnp.abs(z), axis=-1, keepdims=True))
    unit = z / jnp.where(largest > 0, largest, 1.0)
    square = jnp.sum(unit * unit, axis=-1, keepdims=True)
    norm = jnp.sqrt(jnp.where(square > 0, square, 1.0))
    return (unit * (radius / norm)).astype(x.dtype)


class Sphere(Geometry):
    """Add the step, then retract to the sphere.

        x' = r (x + step) / |x + step|
        r = sqrt(D)                             radius is None
        r = radius                              radius is not None

    D is the stream's width. The embedding is retracted too, and the fields read
    the stream as it is: it is normalised already. The realised step is x' - x. A simplification
    of nGPT (Loshchilov et al. 2024, arXiv 2410.01131), which also normalises weights and outputs.

    Raises `UserError` for a radius that is not above zero.
    """

    pre_norm: ClassVar[bool] = False
    curved: ClassVar[bool] = True

    radius: Scalar | None = None

    def __post_init__(self) -> None:
        if isinstance(self.radius, (int, float)) and not self.radius > 0:
            raise UserError(f"the sphere's radius must be above 0, got {self.radius}")

    def start(self, x0: Any) -> Any:
        return retract(x0, self._radius(x0))

    def move(self, x: Any, step: Any) -> tuple[Any, Any]:
        moved = retract(x + step, self._radius(x))
        # A point of the sphere retracts to itself only up to rounding; without a step it must not
        # move at all. The value is set right, the gradient stays that of the retraction.
        still = jnp.all(step == 0, axis=-1, keepdims=True)
        moved = moved + jax.lax.stop_gradient(jnp.where(still, x - moved, 0))
        return moved, moved - x

    def constraint(self, x: Any) -> Any:
        """|x|/r - 1 for every vector."""
        return jnp.linalg.norm(x, axis=-1) / self._radius(x) - 1

    def _radius(self, x: Any) -> Any:
        return x.shape[-1] ** 0.5 if self.radius is None else self.radius
