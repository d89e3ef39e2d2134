"""The sphere with the field's output as a target, not as a step."""

from typing import Any

import jax.numpy as jnp

from velocity_ledger.integrators.geometry._sphere import Sphere, retract


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
