"""What a configuration builds and what it costs, without computing anything."""

import dataclasses as dc
import functools
from typing import Any

from flax import nnx

from velocity_ledger.errors import UserError
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._memory import MEMORY, memory_bytes
from velocity_ledger.experiment._trial import first_line, try_variant
from velocity_ledger.experiment._variants import (
    Variant,
    describe_axes,
    describe_text,
    sources_of,
    variants_of,
)
from velocity_ledger.integrators import Integrator, axes
from velocity_ledger.model import (
    GPT,
    ModelConfig,
    count_parameters,
    declared_by,
    flops_per_token,
)


def count_own_parameters(integrator: Integrator, config: ModelConfig) -> int:
    """Return how many numbers the integrator itself learns."""
    sub_updates = config.layers * len(integrator.splitting.kinds)
    copies = {"model": 1, "layer": config.layers, "sub_update": sub_updates}
    declared = declared_by(integrator, config).values()
    return sum(p.size * copies[p.per] for p in declared)


def parameter_count(integrator: Integrator, config: ModelConfig) -> int:
    """Return how many numbers a model learns, of which only shapes of two layers are built."""
    made = _Made(bool(integrator.pre_norm), tuple(integrator.splitting.fields), integrator)
    # All layers are alike, so each adds the same. What an integrator learns need not grow so.
    one = _block_parameters(dc.replace(config, layers=1), made)
    more = _block_parameters(dc.replace(config, layers=2), made) - one if config.layers > 1 else 0
    return one + (config.layers - 1) * more + count_own_parameters(integrator, config)


def forward_flops(integrator: Integrator, config: ModelConfig) -> int:
    """Return the operations of the forward pass for one token at full context."""
    return flops_per_token(config, integrator)


@dc.dataclass(frozen=True)
class _Made:
    """What of an integrator decides which blocks a model has; two that agree in it share them."""

    pre_norm: bool
    fields: tuple[str, ...]
    integrator: Integrator = dc.field(compare=False)


@functools.lru_cache(maxsize=256)
def _block_parameters(config: ModelConfig, made: _Made) -> int:
    """How many numbers a model of few layers learns beside its integrator."""
    model = nnx.eval_shape(lambda: GPT(config, made.integrator, rngs=0))
    return count_parameters(model) - count_own_parameters(made.integrator, config)


def describe(config: ExperimentConfig) -> list[dict[str, Any]]:
    """Return, for each variant, what it is made of and what a training step of it costs.

    Parameters are counted on a real model of one and of two layers, of which only shapes are
    built, once for all variants of the same blocks: every further layer adds the same. A forward
    pass counts two operations a multiply-add, training three times the forward pass. Memory is an
    estimate; `memory_formula` says of what. The vocabulary is the configuration's: a run takes its
    corpus's.

    Raises `UserError` for a variant that cannot be read or does not run.
    """
    variants = variants_of(config.variants)
    for variant in variants:
        if variant.file is not None:
            try_variant(variant, dc.replace(variant.configure(config).model, scan=True))
    return [_described(variant, config) for variant in variants]


def _described(variant: Variant, config: ExperimentConfig) -> dict[str, Any]:
    integrator = variant.integrator
    config = variant.configure(config)
    parameters = parameter_count(integrator, config.model)
    forward = forward_flops(integrator, config.model)
    tokens = config.training.batch * config.model.context
    try:
        memory = memory_bytes(parameters, integrator, config)
    except Exception as error:
        if variant.file is None:
            raise
        raise UserError(
            f"{variant.text} has no derivative ({first_line(error)}): mend {variant.file}"
        ) from error
    return {
        "variant": variant.text,
        "description": describe_text(variant),
        "axes": describe_axes(integrator),
        "composition": axes(integrator),
        "learned": list(integrator.parameters(config.model.width)),
        "evaluations": integrator.evaluations,
        "invertible": bool(integrator.invertible),
        "sources": list(sources_of(variant)),
        "pre_norm": bool(integrator.pre_norm),
        "layers": config.model.layers,
        "width": config.model.width,
        "heads": config.model.heads,
        "hidden": config.model.hidden,
        "context": config.model.context,
        "vocabulary": config.model.vocabulary,
        "sub_updates": config.model.layers * len(variant.integrator.splitting.kinds),
        "steps": config.training.steps,
        "batch": config.training.batch,
        "parameters": parameters,
        "integrator_parameters": count_own_parameters(integrator, config.model),
        "flops_per_token_forward": forward,
        "flops_per_token_training": 3 * forward,
        "flops_per_step": 3 * forward * tokens,
        "memory_bytes": memory,
        "memory_formula": MEMORY,
    }
