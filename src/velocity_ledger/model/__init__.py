"""The model: fields, embedding and head; how the stream is integrated comes from outside."""

from typing import TYPE_CHECKING

from velocity_ledger._lazy import lazy

if TYPE_CHECKING:
    from velocity_ledger.model._attention import Attention as Attention
    from velocity_ledger.model._bits import rows_key as rows_key
    from velocity_ledger.model._block import declared_by as declared_by
    from velocity_ledger.model._config import BLOCKS as BLOCKS, ModelConfig as ModelConfig
    from velocity_ledger.model._convert import convert as convert
    from velocity_ledger.model._dropout import dropout as dropout
    from velocity_ledger.model._flops import flops_per_token as flops_per_token
    from velocity_ledger.model._generate import generate as generate
    from velocity_ledger.model._gpt import GPT as GPT, Hyperparameter as Hyperparameter
    from velocity_ledger.model._keys import PathKeys as PathKeys, fold_in_name as fold_in_name
    from velocity_ledger.model._mlp import MLP as MLP
    from velocity_ledger.model._numbers import with_numbers as with_numbers
    from velocity_ledger.model._phase_attention import PhaseAttention as PhaseAttention
    from velocity_ledger.model._rotary import rotate as rotate
    from velocity_ledger.model._unit_weights import unit_weights as unit_weights
    from velocity_ledger.model._weights import count_parameters as count_parameters

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "BLOCKS": "_config",
        "GPT": "_gpt",
        "MLP": "_mlp",
        "Attention": "_attention",
        "Hyperparameter": "_gpt",
        "ModelConfig": "_config",
        "PathKeys": "_keys",
        "PhaseAttention": "_phase_attention",
        "convert": "_convert",
        "count_parameters": "_weights",
        "declared_by": "_block",
        "dropout": "_dropout",
        "flops_per_token": "_flops",
        "fold_in_name": "_keys",
        "generate": "_generate",
        "rotate": "_rotary",
        "rows_key": "_bits",
        "unit_weights": "_unit_weights",
        "with_numbers": "_numbers",
    },
)
