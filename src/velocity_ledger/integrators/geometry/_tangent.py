"""The sphere as a manifold: forces are tangent, the velocity is carried along."""

from typing import Any

import jax.numpy as jnp

from velocity_ledger.integrators.geometry._sphere import Sphere


class TangentSphere(Sphere):
    """Move on the sphere with tangent forces and a transported velocity.

        f -> P(x, f)                            what points along x cannot move it
        x' = r (x + step) / |x + step|
        v' -> P(x', v')                         transport by projection
        r = sqrt(D)                             radius is None
        r = radius                              radius is not None

    P(x, y) = y - (x . y) x / |x|^2 is the part of y that is tangent at x, and v stands for all that
    momentum remembers.
    With a heavy ball it is the Riemannian ledger; a `Sphere` lets the velocity gather a radial part
    that the retraction throws away at every step. Radius and reading of the stream are those of
    `Sphere` (Absil, Mahony & Sepulchre 2008, chapters 4 and 8).
    """

    def pull(self, x: Any, f: Any) -> Any:
        return tangent(x, f)

    def push(self, x: Any, increment: Any) -> Any:
        # What points along x would be lost.
        side, length = tangent(x, increment), norm(increment)
        return side * (length / jnp.where(norm(side) > 0, norm(side), 1.0)).astype(side.dtype)

    def transport(self, x: Any, memory: Any) -> Any:
        return tangent(x, memory)


def tangent(x: Any, vector: Any) -> Any:
    """The part of `vector` across x."""
    z, v = x.astype(jnp.float32), vector.astype(jnp.float32)
    square = jnp.sum(z * z, -1, keepdims=True)
    along = jnp.sum(z * v, -1, keepdims=True) / jnp.where(square > 0, square, 1.0)
    return (v - along * z).astype(vector.dtype)


def norm(vector: Any) -> Any:
    """Its length in float32, along the last axis, which stays."""
    return jnp.linalg.norm(vector.astype(jnp.float32), axis=-1, keepdims=True)
