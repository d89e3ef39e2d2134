"""Inner products of a path's steps: all that a picture of its shape needs."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from velocity_ledger.integrators import Context, Info


class StepGram:
    """Keep the inner products of the steps d_k and of the increments f_k, as means over tokens.

    The recorded value is a dict of float32 arrays [n, n]:

        step_gram             mean of <d_j, d_k>
        increment_step_gram   mean of <f_j, d_k>, f_j the field's output

    The streams of all tokens, stacked into one vector and divided by the root of their number,
    move along x_0..x_n in steps with exactly these inner products. So the matrix is the path up to
    a rotation: its trace is the sum of mean squared step lengths, the sum of its entries the mean
    squared chord, and its principal axes are those of the recorded states (classical scaling,
    Torgerson 1952). It needs all steps of a token at once: until they are reduced, two copies of
    the stream a sub-update are held, for which `measure` takes one window after the other.
    """

    def init(self, x0: Any) -> Any:
        del x0

    def update(
        self, kept: Any, x_before: Any, x_after: Any, info: Info, ctx: Context
    ) -> tuple[Any, Any]:
        del x_before, x_after, ctx
        return kept, {
            "step": info.step.astype(jnp.float32),
            "increment": info.increment.astype(jnp.float32),
        }

    def finish(self, kept: Any, rows: Any, x_n: Any) -> Any:
        del kept, x_n
        steps = rows["step"]
        return {
            "step_gram": _mean_products(steps, steps),
            "increment_step_gram": _mean_products(rows["increment"], steps),
        }


def _mean_products(
    a: Float[Array, "n *batch width"], b: Float[Array, "n *batch width"]
) -> Float[Array, "n n"]:
    n, tokens = a.shape[0], a[0, ..., 0].size
    # The default precision of a product is low on accelerators.
    return jnp.matmul(a.reshape(n, -1), b.reshape(n, -1).T, precision="highest") / tokens
