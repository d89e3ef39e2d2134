"""One optimizer step on a batch that is given, by the library's own compiled loop."""

from typing import Any

import numpy as np
import optax

from velocity_ledger.training import LONGEST, Batching, training_steps


def one_step(
    graphdef: Any, rule: optax.GradientTransformation, at_a_time: int | None = None
) -> Any:
    """Return `step(params, state, rest, tokens, root, index)`: new params, new state, the loss."""

    def step(params: Any, state: Any, rest: Any, tokens: Any, root: Any, index: Any) -> Any:
        batch, window = tokens.shape
        loop = training_steps(graphdef, rule, Batching(window - 1, batch, at_a_time or batch))
        # The windows one after the other, as a text of their own.
        starts = np.tile(np.arange(batch, dtype=np.int32) * window, (LONGEST, 1))
        ids = np.ravel(tokens)
        arguments = params, state, rest, ids, starts, root, index, np.int32(1)
        params, state, losses = loop(*arguments)
        return params, state, losses[0]

    return step
