"""What a configuration builds and what it costs, without computing anything."""

import dataclasses as dc
from collections.abc import Callable
from typing import Any

from flax import nnx

from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._trial import try_variant
from velocity_ledger.experiment._variants import (
    Variant,
    describe_axes,
    describe_text,
    sources_of,
    variants_of,
)
from velocity_ledger.integrators import Integrator, axes
from velocity_ledger.model import GPT, ModelConfig, count_parameters, declared_by

MEMORY = (
    "4 bytes * (5 P + batch * context * (layers * (a D + m F + 3 H T) + 2 D + 3 V)): weights, "
    "gradient, two moments of AdamW and the best weights so far, and what the backward pass keeps "
    "of every layer; P parameters, D width, F hidden, H heads, T context, V vocabulary; a = 16, "
    "with qk_norm 4 more, with value_residual 1 more; m = 3, with swiglu 5, with hidden_scale 1 "
    "more for each matrix that reads the stream"
)


def count_own_parameters(integrator: Integrator, config: ModelConfig) -> int:
    """Return how many numbers the integrator itself learns."""
    sub_updates = config.layers * len(integrator.splitting.kinds)
    copies = {"model": 1, "layer": config.layers, "sub_update": sub_updates}
    declared = declared_by(integrator, config).values()
    return sum(p.size * copies[p.per] for p in declared)


def parameter_count(integrator: Integrator, config: ModelConfig) -> int:
    """Return how many numbers a model learns, of which only shapes of two layers are built."""

    def others(model: Any, shape: ModelConfig) -> int:
        return count_parameters(model) - count_own_parameters(integrator, shape)

    # What an integrator learns need not grow with depth by the same from layer to layer.
    return _at_depth(others, integrator, config) + count_own_parameters(integrator, config)


def forward_flops(integrator: Integrator, config: ModelConfig) -> int:
    """Return the operations of the forward pass for one token at full context."""
    return _at_depth(lambda model, _: model.flops_per_token(), integrator, config)


def _at_depth(
    count: Callable[[Any, ModelConfig], int], integrator: Integrator, config: ModelConfig
) -> int:
    """A count of a model, exact at any depth: all layers are alike, so each adds the same."""

    def of(layers: int) -> int:
        shape = dc.replace(config, layers=layers)
        return count(nnx.eval_shape(lambda: GPT(shape, integrator, rngs=0)), shape)

    one = of(1)
    return one if config.layers == 1 else one + (config.layers - 1) * (of(2) - one)


def describe(config: ExperimentConfig) -> list[dict[str, Any]]:
    """Return, for each variant, what it is made of and what a training step of it costs.

    Parameters are counted on a real model of one and of two layers, of which only shapes are
    built: every further layer adds the same. A forward pass counts two operations a multiply-add,
    training three times the forward pass. Memory is an estimate; `memory_formula` says of what.
    The vocabulary is the configuration's: a run takes its corpus's.

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
        "memory_bytes": _memory(parameters, config),
        "memory_formula": MEMORY,
    }


def _memory(parameters: int, config: ExperimentConfig) -> int:
    m = config.model
    gated = m.activation == "swiglu"
    a = 16 + 4 * m.qk_norm + m.value_residual
    f = 3 + 2 * gated + (1 + gated) * m.hidden_scale
    layer = a * m.width + f * m.hidden + 3 * m.heads * m.context
    token = m.layers * layer + 2 * m.width + 3 * m.vocabulary
    return 4 * (5 * parameters + config.training.batch * m.context * token)
