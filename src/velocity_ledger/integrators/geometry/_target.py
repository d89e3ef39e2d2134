"""The sphere with the field's output as a target, not as a step."""

from typing import Any

import jax.numpy as jnp

from velocity_ledger.integrators.geometry._sphere import Sphere, retract
from velocity_ledger.integrators.geometry._tangent import norm, tangent


class TargetSphere(Sphere):
    """Pull towards the field's normalised output, as nGPT does.

        f -> r f / |f| - x
        x' = r (x + step) / |x + step|
        r = sqrt(D)                             radius is None
        r = radius                              radius is not None

    With Euler and a step scale alpha it is x' = norm(x + alpha (norm(f) - x)) (Loshchilov et al.
    2024, arXiv 2410.01131). An output of zero has no direction and does not pull. Radius and
    reading of the stream are those of `Sphere`.
    """

    def pull(self, x: Any, f: Any) -> Any:
        silent = jnp.all(f == 0, axis=-1, keepdims=True)
        return jnp.where(silent, 0, retract(f, self._radius(x)) - x)

    def push(self, x: Any, increment: Any) -> Any:
        """Return the target at the distance |increment| from x, in its direction across x.

            t = r (cos a  x / |x| + sin a  e),  |t - x| = |increment|,  e = P_x increment / |...|

        A distance that no point of the sphere has gives the nearest or the farthest one.
        """
        r, size, length = self._radius(x), norm(x), norm(increment)
        side = tangent(x, increment).astype(jnp.float32)
        # By the half angle, exact where it is small: |t - x|^2 = (r - |x|)^2 + 4 r |x| sin^2(a/2).
        square = (length**2 - (r - size) ** 2) / (4 * r * jnp.where(size > 0, size, 1.0))
        half = jnp.sqrt(jnp.clip(square, 0.0, 1.0))
        ahead = (1 - 2 * half**2) * x / jnp.where(size > 0, size, 1.0)
        aside = 2 * half * jnp.sqrt(1 - half**2) * side / jnp.where(norm(side) > 0, norm(side), 1.0)
        target = jnp.where(length > 0, r * (ahead + aside), 0.0)
        return target.astype(increment.dtype)
