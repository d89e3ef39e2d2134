"""A token's vector as a matrix."""

from typing import Any

import jax.numpy as jnp

from velocity_ledger.errors import UserError


def rows_of(rows: int | None, width: int) -> int:
    """Return how many rows a token's matrix has; of None, those that make it the squarest.

    Raises `UserError` where they do not divide the width.
    """
    if rows is None:
        return max(r for r in range(1, int(width**0.5) + 1) if width % r == 0)
    if rows < 1 or width % rows:
        raise UserError(
            f"a width of {width} is not cut into {rows} rows: choose a divisor of it, or None"
        )
    return rows


def as_matrix(x: Any, rows: int) -> Any:
    """Return [*batch, width] as [*batch, rows, width / rows], in float32 at least."""
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    return wide.reshape(*x.shape[:-1], rows, -1)


def product(a: Any, b: Any) -> Any:
    """A matrix product that no accelerator rounds."""
    return jnp.matmul(a, b, precision="highest")
