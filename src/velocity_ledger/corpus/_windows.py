"""Batches without a generator's state: resuming needs only the step."""

import numpy as np
from jaxtyping import Int, Int32, Int64

from velocity_ledger.errors import UserError


def windows(
    ids: Int[np.ndarray, "characters"], *, batch: int, context: int, seed: int, step: int
) -> Int32[np.ndarray, "{batch} {context}+1"]:
    """Draw `batch` windows of `context + 1` consecutive ids, from (seed, step) alone.

    Starts are independent and uniform over 0..len(ids) - (context + 1), both ends included, so
    every character is reached. The inputs are `[:, :-1]`, the targets `[:, 1:]`.

    start_i = floor(r_i * places / 2**64), with r_i the raw 64-bit output of Philox4x64-10 under
    the key (seed, step) (Salmon et al., SC 2011). Keys, and so streams, of different pairs
    differ, and NumPy keeps raw output the same in all its versions.

    Raises UserError where the ids are too few, ValueError where batch or context is below 1, or
    where seed or step is outside 0..2**64 - 1.
    """
    starts = window_starts(len(ids), batch=batch, context=context, seed=seed, step=step)
    return ids[starts[:, None] + np.arange(context + 1)].astype(np.int32)


def window_starts(
    length: int, *, batch: int, context: int, seed: int, step: int
) -> Int64[np.ndarray, " {batch}"]:
    """Return where `windows` begin in a text of so many ids; it says how, and what is raised."""
    steps = range(step, step + 1)
    return window_starts_of(length, batch=batch, context=context, seed=seed, steps=steps)[0]


def window_starts_of(
    length: int, *, batch: int, context: int, seed: int, steps: range
) -> Int64[np.ndarray, " steps {batch}"]:
    """Return `window_starts` of several steps, a row each, in a fraction of the time."""
    if batch < 1 or context < 1:
        raise ValueError(f"batch and context are at least 1, got {batch} and {context}")
    for step in (steps[0], steps[-1]) if steps else ():
        if not (0 <= seed < 2**64 and 0 <= step < 2**64):
            raise ValueError(f"seed and step are from 0 to 2**64 - 1, got {seed} and {step}")
    places = length - context
    if places < 1:
        raise UserError(
            f"{length} characters are too few for a context of {context}:"
            f" the largest context they allow is {max(length - 1, 0)}"
        )
    raw = np.empty((len(steps), batch), np.uint64)
    generator = np.random.Philox(key=0)
    # A new generator would first ask the system for a seed, only to be given its key.
    fresh = generator.state
    key = fresh["state"]["key"]
    for row, step in zip(raw, steps, strict=True):
        key[0], key[1] = seed, step
        generator.state = fresh
        row[:] = generator.random_raw(batch)
    if places < 2**32:
        # The high half of a product of 96 bits, in two of 64.
        low, high = raw & np.uint64(0xFFFFFFFF), raw >> np.uint64(32)
        count = np.uint64(places)
        starts = (high * count + (low * count >> np.uint64(32))) >> np.uint64(32)
    else:
        drawn = [int(r) * places >> 64 for r in raw.ravel()]
        starts = np.array(drawn, np.uint64).reshape(raw.shape)
    return starts.astype(np.int64)
