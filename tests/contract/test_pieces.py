"""Noise that a batch in pieces shares with the whole batch."""

import jax
import pytest

from velocity_ledger import Info, Integrator
from velocity_ledger.contract import NotDeclared, Subject
from velocity_ledger.contract._pieces import pieces_are_the_batch


class Noisy(Integrator):
    """Each row of the batch has a noise of its own, for all tokens or for each."""

    each: bool = True

    def step(self, field, stream, state, ctx):
        f = field(stream)
        shape = f.shape if self.each else (f.shape[0], 1, 1)
        step = f if ctx.key is None else f + jax.random.normal(ctx.key, shape, f.dtype)
        return stream + step, state, Info(f, step, step)


@pytest.mark.parametrize("each", [True, False])
def test_noise_with_the_batch_as_its_first_axis_is_that_of_the_whole(each):
    pieces_are_the_batch(Subject(Noisy(each=each)))


def test_without_noise_there_is_nothing_to_try():
    with pytest.raises(NotDeclared, match="draws nothing"):
        pieces_are_the_batch(Subject("ledger"))
