"""The published layout: one npz and one JSON, and how their names relate to a bundle's.

    ckpt_steps                              [checkpoints]  training steps of the checkpoints
    {variant}_s{seed}/train_steps           [k]            steps at which ...
    {variant}_s{seed}/train_loss            [k]            ... the training loss was logged
    {variant}_s{seed}/val_steps, val_loss   [k]            the same of the validation loss
    {variant}_s{seed}/ck{i}_xnorm           [n + 1]        |x_0|, ..., |x_n|
    {variant}_s{seed}/ck{i}_seglen          [n]            |x_k - x_(k-1)|, k = 1..n
    {variant}_s{seed}/ck{i}_turn            [n - 1]        degrees between steps k-1 and k, k = 2..n
    {variant}_s{seed}/ck{i}_vnorm           [n]            |v_k|, for a variant with a velocity
    {variant}_s{seed}/ck{i}_rawstep         [n]            length of the step before the retraction

All are means over the probe's tokens, and i counts the entries of `ckpt_steps`. The published file
has 241 arrays. With `vnorm` for the two ledgers and `rawstep` for the two sphere variants, where
it is not `seglen` anyway, four variants, three seeds and four checkpoints make exactly that:
1 + 12 * 4 + 4 * 3 * (3 + 4 + 4 + 5). Other sets make it too, so a reader takes any.
"""

import re

PUBLISHED = {
    "plain": "plain",
    "ledger": "ledger",
    "ngpt_lite": "ngpt-lite",
    "ngpt_ledger": "ngpt-ledger",
}
"""Spelling in the published files, and our text form."""

CURVES = {"train_steps": "step", "train_loss": "train_loss",
          "val_steps": "validation", "val_loss": "val_loss"}  # fmt: skip
DEPTH = {
    "xnorm": "stream_norm",
    "seglen": "step_length",
    "turn": "turning_angle",
    "vnorm": "velocity_norm",
    "rawstep": "raw_step",
}
"""Suffix of an array, and our name of the quantity; `xnorm` begins with `initial_norm`."""

RUN_KEYS = (
    "best_val_loss", "best_step", "best_bpc", "final_val_loss", "params", "wall_s", "sample",
)  # fmt: skip
"""What is written and read of a run. `blowup_ratio` is defined nowhere and is left alone."""

# Bounded, since the names are other people's: neither control characters nor endless numbers.
CELL = re.compile(r"^(?P<variant>[^/\x00-\x1f\x7f-\x9f]{1,200})_s(?P<seed>[0-9]{1,9})$")
DEPTH_ARRAY = re.compile(r"^ck(?P<index>[0-9]{1,6})_(?P<what>[a-z]+)$")


def spelling(text: str, slug: str) -> str:
    """How a variant is spelled in array names: as published, or by its folder's name."""
    return {ours: theirs for theirs, ours in PUBLISHED.items()}.get(text, slug)


def canonical(text: str) -> str:
    """A variant's text form, the published spellings turned into ours."""
    return PUBLISHED.get(text.strip().lower().replace("-", "_"), text.strip())


def cell_name(spelled: str, seed: int) -> str:
    """How a cell is spelled: variant, `_s`, seed."""
    return f"{spelled}_s{seed}"
