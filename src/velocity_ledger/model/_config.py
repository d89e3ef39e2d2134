"""The shape of the GPT, without JAX: the command line reads it for `--help`."""

import dataclasses as dc
import math
from typing import Any, Literal, get_args

from velocity_ledger.errors import UserError

Norm = Literal["layer", "rms"]
Positions = Literal["learned", "rope"]
Activation = Literal["gelu", "swiglu"]
Init = Literal["lecun", "width"]
Precision = Literal["fp32", "bf16", "tf32"]


@dc.dataclass(frozen=True)
class ModelConfig:
    """The blocks: their shape and what they are made of, the same for every integrator.

    The defaults are the published configuration (2,724,864 parameters at 80 characters). Every
    setting below `vocabulary` is independent of the others; `BLOCKS` names sets of them.

    Raises `UserError` for sizes that do not fit and for settings that exclude one another.
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
    precision: Precision = "fp32"
    """What products of matrices are computed in; all else, weights and sums too, is float32. tf32
    is for NVIDIA GPUs."""
    scan: bool = False
    """Compile one layer and scan it over depth, instead of unrolling every layer."""
    vocabulary: int = 80
    """Distinct tokens; a run sets it from its corpus."""
    norm: Norm = "layer"
    """Norm before each field and before the head: LayerNorm, or RMSNorm, which keeps the mean."""
    positions: Positions = "learned"
    """A learned table added to the embedding, or rotary: queries and keys turned by position."""
    activation: Activation = "gelu"
    """The MLP: down(gelu(up)), or down(up * silu(gate)) with one matrix more of the same size."""
    kv_heads: int | None = None
    """Heads of keys and values, shared by groups of queries; divides the heads. None: all."""
    bias: bool = True
    """Biases of the linear maps and of LayerNorm; the head never has one."""
    tied: bool = False
    """The head is the token table transposed."""
    final_norm: bool = True
    """A norm before the head."""
    init: Init = "lecun"
    """Matrices start with std 1/sqrt(fan-in), truncated, or all with std 1/sqrt(width)."""
    scaled_init: bool = False
    """Fields' last matrices start divided by sqrt(2 layers), as GPT-2's."""
    output_gain: float = 1.0
    """Fields' last matrices start multiplied by this; hyper-connections' by 1/sqrt(streams)."""
    norm_scaling: bool = False
    """The output of both norms of layer l = 1, 2, ... is divided by sqrt(l)."""
    value_residual: bool = False
    """Values are the mean of a layer's own and the first layer's, as ResFormer's."""
    qk_norm: bool = False
    """Unit queries and keys a head, times one learned scale; scores times sqrt(head size)."""
    hidden_scale: bool = False
    """A learned scale of each hidden unit before the activation, times sqrt(width)."""
    logit_scale: bool = False
    """A learned scale of each entry of the vocabulary on the logits."""
    unit_weights: bool = False
    """All matrices have unit vectors along the width: at the start and after every step."""

    def __post_init__(self) -> None:
        for name, choices in (
            ("norm", Norm), ("positions", Positions), ("activation", Activation), ("init", Init),
            ("precision", Precision),
        ):  # fmt: skip
            if getattr(self, name) not in get_args(choices):
                known = ", ".join(get_args(choices))
                raise UserError(f"model {name} is one of {known}, got {getattr(self, name)!r}")
        for name in ("layers", "width", "heads", "hidden", "context", "vocabulary"):
            if getattr(self, name) < 1:
                raise UserError(f"model {name} must be at least 1, got {getattr(self, name)}")
        if self.width % self.heads:
            raise UserError(f"width {self.width} is not a multiple of {self.heads} heads")
        if not 0.0 <= self.dropout < 1.0:
            raise UserError(f"dropout must be at least 0 and below 1, got {self.dropout}")
        groups = self.key_heads
        if groups < 1 or self.heads % groups:
            raise UserError(
                f"kv_heads must divide the {self.heads} heads evenly, got {self.kv_heads}"
            )
        if self.positions == "rope" and self.head_size % 2:
            raise UserError(
                f"rope turns pairs of dimensions, and a head has {self.head_size}: choose a width "
                "that gives every head an even number"
            )
        if self.norm_scaling and self.scaled_init:
            raise UserError(
                "norm_scaling takes the place of scaled_init, and both would damp the same layers "
                "twice: choose one"
            )
        if not (self.output_gain > 0 and math.isfinite(self.output_gain)):
            raise UserError(f"output_gain must be a number above 0, got {self.output_gain}")
        if self.unit_weights and self.output_gain != 1:
            raise UserError(
                "unit_weights sets every length to 1, so output_gain would do nothing: leave it out"
            )
        if self.unit_weights and self.scaled_init:
            raise UserError(
                "unit_weights sets every length to 1, so scaled_init would do nothing: leave it out"
            )

    @property
    def head_size(self) -> int:
        """Dimensions of a head."""
        return self.width // self.heads

    @property
    def key_heads(self) -> int:
        """Heads of the keys and values."""
        return self.heads if self.kv_heads is None else self.kv_heads

    @property
    def sub_updates(self) -> int:
        """Sub-updates of the residual stream, n = 2 * layers."""
        return 2 * self.layers


_SHAPE = ("layers", "width", "heads", "hidden", "context", "vocabulary")
_RUN = ("dropout", "precision", "share_attention_dropout", "scan", "kv_heads")
_GPT = {
    f.name: f.default for f in dc.fields(ModelConfig) if f.name not in (*_SHAPE, *_RUN)
}  # fmt: skip

BLOCKS: dict[str, dict[str, Any]] = {
    "gpt": _GPT,
    "llama": _GPT | {"norm": "rms", "positions": "rope", "activation": "swiglu", "bias": False},
    "ngpt": _GPT
    | {
        "positions": "rope",
        "activation": "swiglu",
        "bias": False,
        "final_norm": False,
        "init": "width",
        "qk_norm": True,
        "hidden_scale": True,
        "logit_scale": True,
        "unit_weights": True,
    },
}
"""Named sets of block settings, for `dataclasses.replace(config, **BLOCKS[name])`.

Each says every setting, so a set does not depend on what it replaces. Sizes, the heads of keys and
values and dropout stay the run's own. `gpt` is the published network, `llama` the block of Touvron
et al. 2023 (arXiv 2302.13971), whose head is untied, too. `ngpt` holds the blocks of nGPT
(Loshchilov et al. 2024, arXiv 2410.01131); it is whole with the integrator `ngpt-step(radius=1)`,
without dropout, warm-up and weight decay, under AdamW with betas of .9 and .95. Its released code
divides the initial output matrices by sqrt(2 layers) before it sets their lengths to 1, which
leaves nothing of the division.
"""
