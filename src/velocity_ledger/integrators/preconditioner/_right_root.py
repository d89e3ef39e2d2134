"""Divide a token's matrix, on its right, by the root of its second moment."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Parameter
from velocity_ledger.integrators.coefficient import Number, declare, evaluate
from velocity_ledger.integrators.preconditioner._base import Preconditioner
from velocity_ledger.integrators.preconditioner._matrix import as_matrix, product, rows_of

_RIDGE = 1e-6
_NEWTON_STEPS = 10


class RightRoot(Preconditioner):
    """Shampoo's right factor on each token's [rows, D = width / rows] matrices M of m and G of g.

        R' = beta2 R + (1 - beta2) G^T G,  R_0 = I_D
        u = M (R' + 1e-6 I)^(-1/2)

    `root="eigh"` takes the root by eigenvalues, those below 0 by rounding as 0. `root="newton"` is
    what is published: 10 steps of

        S = (R' + 1e-6 I) / c,  c = |R' + 1e-6 I| (Frobenius),  X_0 = I
        X_(i+1) = X_i (3 I - X_i S X_i) / 2,   root = X_10 / sqrt(c)

    which has not converged where R' is ill-conditioned: there it is a smaller, regularised root.
    R is kept in float32. beta2 = 1 leaves R at I and m as it is. Source: Gai et al. 2026, arXiv
    2605.24425, whose SOAPFormer and ShampooFormer have neither a left factor nor Adam in an
    eigenbasis; the published matrix is heads by head width, here as in `Orthogonal`.
    Raises `UserError` for rows that do not divide the width and for another root.
    """

    amplifies: ClassVar[bool] = True  # an eigenvalue near the ridge by (1e-6)^(-1/2), 1000 times

    rows: int | None = None
    root: str = "eigh"
    beta2: Number = 0.999

    def __post_init__(self) -> None:
        if self.root not in _ROOTS:
            raise UserError(f"root is one of {', '.join(_ROOTS)}, got {self.root!r}")

    def parameters(self, width: int) -> dict[str, Parameter]:
        _ = rows_of(self.rows, width)
        return declare(beta2=self.beta2)

    def init(self, x0: Float[Array, "*batch width"]) -> Any:
        width = x0.shape[-1]
        side = width // rows_of(self.rows, width)
        eye = jnp.eye(side, dtype=jnp.promote_types(x0.dtype, jnp.float32))
        return jnp.broadcast_to(eye, (*x0.shape[:-1], side, side))

    def apply(self, m: Any, g: Any, state: Any, ctx: Context) -> tuple[Any, Any]:
        rows = rows_of(self.rows, m.shape[-1])
        outputs = as_matrix(g, rows)
        beta = evaluate(self.beta2, "beta2", state, ctx)
        gram = product(jnp.swapaxes(outputs, -1, -2), outputs)
        r = beta * state + (1 - beta) * gram
        u = product(as_matrix(m, rows), _ROOTS[self.root](r))
        return u.reshape(m.shape).astype(m.dtype), r


@jax.custom_jvp
def _by_eigenvalues(r: Any) -> Any:
    return _spectral(*_roots(r))


@_by_eigenvalues.defjvp
def _by_eigenvalues_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    # Autodiff of eigh divides by differences of eigenvalues, of which R has many equal ones. For
    # f(w) = w^(-1/2) the divided difference of two roots a, b is -1 / (a b (a + b)): never 0 / 0.
    (r,), (dr,) = primals, tangents
    root, q = _roots(r)
    a, b = root[..., :, None], root[..., None, :]
    turned = jnp.swapaxes(q, -1, -2)
    inner = -product(product(turned, dr), q) / (a * b * (a + b))
    return _spectral(root, q), product(product(q, inner), turned)


def _roots(r: Any) -> tuple[Any, Any]:
    """The square roots of the eigenvalues, with the ridge, and the eigenvectors."""
    w, q = jnp.linalg.eigh(r)
    return jnp.sqrt(jnp.maximum(w, 0) + _RIDGE), q


def _spectral(root: Any, q: Any) -> Any:
    return product(q / root[..., None, :], jnp.swapaxes(q, -1, -2))


def _by_newton(r: Any) -> Any:
    eye = jnp.eye(r.shape[-1], dtype=r.dtype)
    ridged = r + _RIDGE * eye
    norm = jnp.sqrt(jnp.sum(ridged * ridged, (-2, -1), keepdims=True))
    scaled = ridged / norm

    def once(x: Any, _: None) -> tuple[Any, None]:
        return product(x, 3 * eye - product(product(x, scaled), x)) / 2, None

    first = jnp.broadcast_to(eye, r.shape)
    x, _ = jax.lax.scan(once, first, None, length=_NEWTON_STEPS)
    return x / jnp.sqrt(norm)


_ROOTS = {"eigh": _by_eigenvalues, "newton": _by_newton}
