"""Networks with a name: an integrator and the blocks and training that it was published with."""

import dataclasses as dc


@dc.dataclass(frozen=True)
class Whole:
    """What a name stands for, and a sentence."""

    text: str
    summary: str


WHOLES = {
    "ngpt": Whole(
        "ngpt-step(radius=1.0) with blocks=ngpt training.final_rate=0.0 training.warmup=0 "
        "training.weight_decay=0.0 training.beta2=0.95",
        "nGPT whole: its step on the unit sphere, its blocks with unit weights after every "
        "optimizer step, no warm-up, a cosine to 0, AdamW (.9, .95) and no weight decay. It has no "
        "dropout; the run's stays, unless model.dropout=0.0 is given.",
    ),
}
"""By name; wherever a variant's text form goes, so does the name."""
