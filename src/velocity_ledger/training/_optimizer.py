"""The published recipe: clipping, AdamW, linear warm-up and a cosine."""

import dataclasses as dc
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from velocity_ledger.training._config import TrainingConfig


def warmup_steps(config: TrainingConfig) -> int:
    """Steps of warm-up in use: those asked for, or a tenth of a schedule that is no longer."""
    return config.warmup if config.warmup < config.steps else config.steps // 10


def schedule(config: TrainingConfig) -> optax.Schedule:
    """Learning rate at each step: linear from 0 to the peak, then a cosine to the final rate.

    With w = `warmup_steps(config)`, p = `peak_rate`, q = `final_rate` and N = `steps`:
    p i / w for i < w, then q + (p - q) (1 + cos(pi (i - w) / (N - w))) / 2.
    """
    warmup = warmup_steps(config)
    cosine = optax.cosine_decay_schedule(
        config.peak_rate, config.steps - warmup, alpha=config.final_rate / config.peak_rate
    )
    if not warmup:
        return cosine
    rise = optax.linear_schedule(0.0, config.peak_rate, warmup)
    return optax.join_schedules([rise, cosine], [warmup])


@functools.cache
def optimizer(
    config: TrainingConfig, undecayed: frozenset[str] = frozenset()
) -> optax.GradientTransformation:
    """Clip by global norm, then AdamW (`beta1`, `beta2`) with its decay on all parameters.

    Those of the paths `undecayed`, as `blocks.0.integrator.mlp.read`, are left alone by the decay.
    Equal arguments give the same object, so that runs of one grid share their program.
    """
    return optax.chain(
        optax.clip_by_global_norm(config.clip),
        _adamw(config, schedule(config), undecayed),
    )


def _adamw(
    config: TrainingConfig, rate: optax.Schedule, undecayed: frozenset[str]
) -> optax.GradientTransformation:
    def decays(params: Any) -> Any:
        return jax.tree_util.tree_map_with_path(
            lambda path, _: jax.tree_util.keystr(path, simple=True, separator=".") not in undecayed,
            params,
        )

    return optax.adamw(
        rate,
        config.beta1,
        config.beta2,
        weight_decay=config.weight_decay,
        mask=decays if undecayed else None,
    )


def rule_for(model: Any, config: TrainingConfig) -> optax.GradientTransformation:
    """Return `optimizer` for a model, which may name what the decay leaves alone."""
    return optimizer(config, getattr(model, "undecayed", frozenset()))


class _Rate(NamedTuple):
    rate: Array


def swept_optimizer(
    config: TrainingConfig, rate: float, undecayed: frozenset[str] = frozenset()
) -> optax.GradientTransformation:
    """As `optimizer` with its schedule scaled to a peak of `rate`, which its state holds.

    Optimizers of one configuration and several rates share their update, and so one program.
    """
    base = _swept(config, undecayed)

    def init(params: Any) -> Any:
        of_all: Any = base.init(params)
        return (*of_all[:-1], _Rate(jnp.float32(rate)))

    return optax.GradientTransformationExtraArgs(init, base.update)


@functools.cache
def _swept(config: TrainingConfig, undecayed: frozenset[str]) -> optax.GradientTransformation:
    unit = dc.replace(config, peak_rate=1.0, final_rate=config.final_rate / config.peak_rate)

    def scale(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        del params
        return jax.tree.map(lambda u: state.rate.astype(u.dtype) * u, updates), state

    return optax.chain(
        optax.clip_by_global_norm(config.clip),
        _adamw(unit, schedule(unit), undecayed),
        optax.GradientTransformation(lambda params: _Rate(jnp.float32(1.0)), scale),
    )
