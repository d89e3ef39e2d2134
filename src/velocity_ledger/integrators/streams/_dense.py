"""Every position is an average over all block outputs before it."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import (
    Context,
    Field,
    Info,
    Integrator,
    Parameter,
    scalar,
)
from velocity_ledger.integrators._value import Scalar
from velocity_ledger.integrators.splitting import Splitting, Whole


class DenseFormer(Integrator):
    """Depth-weighted averages: the next block reads a learned sum of all outputs so far.

        X_i = Y_(i-1) + h f(Y_(i-1)),  Y_i = sum_(j<=i) alpha_ij X_j        X_0 = Y_0, i = 1..d

    The block i is the whole layer. alpha_ii starts at 1 and all others at 0: the plain block. The
    d (d + 3) / 2 numbers alpha are one parameter of the model, row after row. With a `dilation` of
    r only every r-th output is kept in a sum, j = i mod r; with a `period` of p only every p-th
    block is followed by one, and Y_i = X_i after the others. The state keeps all outputs, d + 1
    times the stream.

    Source: Pagliardini et al. 2024, arXiv 2402.02622; which blocks a period leaves out is read as
    those whose i is no multiple of p. Raises `UserError` for a dilation or period below 1.
    """

    dilation: int = 1
    period: int = 1
    h: Scalar = 1.0
    splitting: Splitting = Whole()  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    def __post_init__(self) -> None:
        if min(self.dilation, self.period) < 1:
            raise UserError("a dilation and a period are at least 1")
        if not isinstance(self.splitting, Splitting):
            raise UserError(f"splitting is a Splitting, got {self.splitting!r}")

    def parameters(self, width: int) -> dict[str, Parameter]:
        del width

        def weights(sub_updates: int) -> int:
            return int(self._rows(sub_updates).sum())

        return {"average": Parameter((weights,), self._identity, "model")}

    def init(self, x0: Array, ctx: Context) -> tuple[Any, Any]:
        outputs = jnp.zeros((ctx.total + 1, *x0.shape), x0.dtype)
        return x0, outputs.at[0].set(x0)

    def step(self, field: Field, stream: Any, state: Any, ctx: Context) -> tuple[Any, Any, Info]:
        f = field(stream)
        proposed = scalar(self.h, f) * f
        state = state.at[ctx.index + 1].set(stream + proposed)
        alpha = self._row(ctx).astype(jnp.promote_types(stream.dtype, jnp.float32))
        mean = jnp.einsum("j,j...->...", alpha, state.astype(alpha.dtype), precision="highest")
        new = mean.astype(stream.dtype)
        return new, state, Info(increment=f, raw_step=proposed, step=new - stream)

    def _rows(self, sub_updates: int) -> np.ndarray:
        """How many numbers each block's row has."""
        i = np.arange(1, sub_updates + 1)
        return np.where(i % self.period == 0, i // self.dilation + 1, 0)

    def _row(self, ctx: Context) -> Any:
        """The weights of X_0..X_n after the block at hand, n + 1 numbers."""
        i, j = ctx.index + 1, jnp.arange(ctx.total + 1)
        alone = (j == i).astype(jnp.float32)
        rows = self._rows(ctx.total)
        if not rows.sum():
            return alone
        start = jnp.asarray(np.cumsum(rows) - rows)[ctx.index]
        kept = (j <= i) & (j % self.dilation == i % self.dilation)
        learned = jnp.where(kept, ctx.parameters["average"][start + j // self.dilation], 0.0)
        return jnp.where(i % self.period == 0, learned, alone)

    def _identity(self, key: Any, shape: Any, dtype: Any) -> Any:
        del key
        start, rows, i = np.zeros(shape, dtype), 0, 0
        while rows < shape[0]:
            i += 1
            size = i // self.dilation + 1 if i % self.period == 0 else 0
            rows += size
            if size:
                start[rows - 1] = 1
        return jnp.asarray(start)
