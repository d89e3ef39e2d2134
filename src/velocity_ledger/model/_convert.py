"""A trained model under another integrator."""

import dataclasses as dc
import sys
from collections.abc import Callable
from typing import Any

import jax

from velocity_ledger.errors import UserError
from velocity_ledger.integrators import Composition, Integrator
from velocity_ledger.model._gpt import GPT


def _to_stderr(message: str) -> None:
    print(message, file=sys.stderr)


def convert(
    model: GPT,
    integrator: Integrator,
    *,
    rngs: int = 0,
    notify: Callable[[str], None] = _to_stderr,
) -> GPT:
    """Return a model of the same shape and weights, moved by another integrator.

        turned = convert(model, ledger(mu=0.0))     # plain: the same logits, bit for bit
        back = convert(turned, plain())

    What the integrator learns and `model` has not learned starts at its declared value, drawn from
    `rngs` where that is random, and `notify` is told its name. `model` keeps its own weights.

    Raises `UserError` where the weights would mean something else: fields that read a normalised
    stream or a bare one, a layer of other fields, a parameter that `model` has learned and the
    integrator has no place for, or that both learn under one name for different things.
    """
    source = model.integrator
    if source.pre_norm != integrator.pre_norm:
        normed, bare = (source, integrator) if source.pre_norm else (integrator, source)
        raise UserError(
            f"{source} cannot become {integrator}: the fields of {normed} read a normalised "
            f"stream, those of {bare} do not, so their weights mean different things"
        )
    ours, theirs = set(source.splitting.fields), set(integrator.splitting.fields)
    if ours != theirs:
        named = ", ".join(sorted(ours ^ theirs))
        raise UserError(f"{source} cannot become {integrator}: only one of them has {named}")
    weights = model.export_weights()
    made = GPT(model.config, integrator, rngs=rngs)
    initial = made.export_weights()
    lost = _names(weights.keys() - initial.keys())
    if lost:
        raise UserError(
            f"{source} cannot become {integrator}, which has no place for what it learned: "
            f"{', '.join(lost)}"
        )
    for name in sorted(integrator.parameters(model.config.width).keys()):
        known = name in source.parameters(model.config.width)
        if known and _owner(source, name, model) != _owner(integrator, name, model):
            raise UserError(
                f"{source} cannot become {integrator}: both learn {name}, for different things"
            )
    new = _names(initial.keys() - weights.keys())
    if new:
        notify(f"{integrator} starts at its declared values of {', '.join(new)}")
    made.import_weights(initial | weights)
    return made


def _names(paths: Any) -> list[str]:
    """The last words of weights' names, each once."""
    return sorted({path.rsplit(".", 1)[-1] for path in paths})


def _owner(integrator: Integrator, name: str, model: GPT) -> Any:
    """The structure of the part that learns a parameter: what it means."""
    parts: list[Any] = []
    if isinstance(integrator, Composition):
        fields = dc.fields(integrator)  # pyright: ignore[reportArgumentType]
        parts = [getattr(integrator, field.name) for field in fields]
    for part in parts:
        if name in getattr(part, "parameters", lambda width: {})(model.config.width):
            return jax.tree.structure(part)
    return jax.tree.structure(integrator)
