"""The shape of the GPT, without JAX: the command line reads it for `--help`."""

import dataclasses as dc

from velocity_ledger.errors import UserError


@dc.dataclass(frozen=True)
class ModelConfig:
    """The blocks' shape, the same for every integrator.

    The defaults are the published configuration (2,724,864 parameters at 80 characters).
    """

    layers: int = 6
    """Layers; each is two sub-updates, attention then MLP."""
    width: int = 192
    """Dimensions of the residual stream."""
    heads: int = 4
    """Attention heads; must divide the width."""
    hidden: int = 768
    """Hidden units of the MLP."""
    context: int = 128
    """Tokens a window holds."""
    dropout: float = 0.15
    """Rate on the embedding, the attention weights and each field's output."""
    share_attention_dropout: bool = True
    """One attention-dropout mask for all heads and sequences, as in the published run."""
    scan: bool = False
    """Compile one layer and scan it over depth, instead of unrolling every layer."""
    vocabulary: int = 80
    """Distinct tokens; a run sets it from its corpus."""

    def __post_init__(self) -> None:
        for name in ("layers", "width", "heads", "hidden", "context", "vocabulary"):
            if getattr(self, name) < 1:
                raise UserError(f"model {name} must be at least 1, got {getattr(self, name)}")
        if self.width % self.heads:
            raise UserError(f"width {self.width} is not a multiple of {self.heads} heads")
        if not 0.0 <= self.dropout < 1.0:
            raise UserError(f"dropout must be at least 0 and below 1, got {self.dropout}")

    @property
    def sub_updates(self) -> int:
        """Sub-updates of the residual stream, n = 2 * layers."""
        return 2 * self.layers
