"""Bring the singular values of a token's matrix to one another."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Parameter
from velocity_ledger.integrators.preconditioner._base import Preconditioner
from velocity_ledger.integrators.preconditioner._matrix import as_matrix, product, rows_of

_QUINTIC = (3.4445, -4.7750, 2.0315)
_SMALLEST = 1e-12


class Orthogonal(Preconditioner):
    """Muon's Newton-Schulz iteration on each token's [rows, width / rows] matrix M.

        Y_0 = M / max(|M|, 1e-12)                        |.| the Frobenius norm
        Y_(i+1) = Y_i (a I + b A + c A^2),  A = Y_i^T Y_i,  (a, b, c) = (3.4445, -4.7750, 2.0315)
        u = Y_5

    After five steps the singular values lie between about .7 and 1.13, unless they began near 0.
    The published matrix is heads by head width; here `rows` is any divisor of the width, and left
    out it is the one that makes the matrix the squarest. Source: Gai et al. 2026, arXiv 2605.24425
    (MuonFormer, OrthoFormer).
    Raises `UserError` for rows that do not divide the width and for a negative number of steps.
    """

    amplifies: ClassVar[bool] = True  # a small singular value by 3.4445 a step: 485 times in five

    rows: int | None = None
    steps: int = 5

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise UserError(f"the iteration takes 0 or more steps, got {self.steps}")

    def parameters(self, width: int) -> dict[str, Parameter]:
        _ = rows_of(self.rows, width)
        return {}

    def apply(self, m: Any, g: Any, state: Any, ctx: Context) -> tuple[Any, Any]:
        del g, ctx
        y = as_matrix(m, rows_of(self.rows, m.shape[-1]))
        # The root of a clamped square: at 0 the gradient is 0 and not NaN.
        square = jnp.sum(y * y, (-2, -1), keepdims=True)
        y = y / jnp.sqrt(jnp.maximum(square, _SMALLEST**2))
        a, b, c = _QUINTIC
        eye = jnp.eye(y.shape[-1], dtype=y.dtype)

        def once(y: Any, _: None) -> tuple[Any, None]:
            gram = product(jnp.swapaxes(y, -1, -2), y)
            return product(y, a * eye + b * gram + c * product(gram, gram)), None

        y, _ = jax.lax.scan(once, y, None, length=self.steps)
        return y.reshape(m.shape).astype(m.dtype), state
