"""The network and the batch that is trained."""

import dataclasses as dc


@dc.dataclass(frozen=True)
class Shape:
    """Sizes of the network, its dropout, and the windows of a step; the published run's."""

    vocabulary: int = 80
    context: int = 128
    width: int = 192
    heads: int = 4
    hidden: int = 768
    layers: int = 6
    batch: int = 64
    dropout: float = 0.15

    @property
    def tokens(self) -> int:
        """Tokens a step."""
        return self.batch * self.context


SMOKE = Shape(context=16, width=16, heads=2, hidden=32, layers=2, batch=4)
"""Does everything in seconds, and measures nothing."""

# The published recipe: AdamW after clipping, a linear warm-up, a cosine.
STEPS, WARMUP, PEAK, FINAL, DECAY, CLIP = 12_000, 200, 1e-3, 1e-4, 0.01, 1.0
