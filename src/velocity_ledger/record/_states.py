"""Every state of the path, for small problems and for pictures."""

from typing import Any

import jax.numpy as jnp

from velocity_ledger.integrators import Context, Info


class States:
    """Keep all states and steps.

    The recorded value is a dict: `x` of shape [n + 1, *batch, width] with x_0 first, `step` and,
    where the integrator has one, `velocity`, of shape [n, *batch, width]. It holds n + 1 copies
    of the stream: use `PathStatistics` for anything large.
    """

    def init(self, x0: Any) -> Any:
        return x0

    def update(
        self, kept: Any, x_before: Any, x_after: Any, info: Info, ctx: Context
    ) -> tuple[Any, Any]:
        del x_before, ctx
        row = {"x": x_after, "step": info.step, "velocity": info.velocity}
        return kept, {name: value for name, value in row.items() if value is not None}

    def finish(self, kept: Any, rows: Any, x_n: Any) -> Any:
        del x_n
        return {**rows, "x": jnp.concatenate([kept[None], rows["x"]])}
