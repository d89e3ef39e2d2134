"""What a variant sets for itself: `plain with model.width=132 training.peak_rate=0.002`."""

import dataclasses as dc
import re
import types
import typing
from collections.abc import Mapping
from typing import Any

from velocity_ledger.errors import UserError
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._wholes import WHOLES
from velocity_ledger.model._config import BLOCKS, ModelConfig
from velocity_ledger.training._config import TrainingConfig

_FORM = re.compile(r"^(?P<form>.*)\s+with\s+(?P<own>[A-Za-z_.]+=.*)$", re.DOTALL)
_MEANT = re.compile(r"\swith(\s[^/:]*)?$")  # and no folder of that name
_NOT_ONES_OWN = {"model.vocabulary", "model.context"}
"""What decides which tokens are predicted, from how many others."""
_RULE = ("training.peak_rate", "training.final_rate", "training.warmup", "training.weight_decay",
         "training.beta1", "training.beta2", "training.clip")  # fmt: skip
"""What of the training is a variant's own; what it is shown and how it is measured never is."""


_BLOCKS = "blocks"
"""Sets the blocks by their name, before single settings of the model."""


def _hints() -> dict[str, Any]:
    found: dict[str, Any] = {_BLOCKS: typing.Literal[tuple(BLOCKS)]}  # pyright: ignore
    for room, cls in (("model", ModelConfig), ("training", TrainingConfig)):
        hints = typing.get_type_hints(cls)
        for field in dc.fields(cls):
            name = f"{room}.{field.name}"
            if name in _RULE or (room == "model" and name not in _NOT_ONES_OWN):
                found[name] = hints[field.name]
    return found


def split(text: str) -> tuple[str, dict[str, Any]]:
    """Return an integrator's text form and what the variant sets for itself, in one order.

    Raises `UserError` for a setting that is unknown, no variant's own, or of another kind.
    """
    match = _FORM.match(text)
    form, words = (text, "") if match is None else (match["form"], match["own"])
    if _MEANT.search(form):
        raise UserError(
            f"{text!r}: settings are written once, after `with`, as model.width=132 and without "
            "spaces around ="
        )
    name, bracket, _ = form.strip().partition("(")
    if bracket and name.strip() in WHOLES:
        raise UserError(
            f"{name.strip()} is a whole network and takes no arguments: write {name.strip()}, or "
            f"{name.strip()} with model.width=132"
        )
    whole = WHOLES.get(form.strip())
    if whole is not None:
        form, own = split(whole.text)
        return form, ordered(own | _given(text, words))
    return form, ordered(_given(text, words))


def recorded(variant: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a variant of a manifest set for itself when its run began.

    What a whole network's name stands for may have changed since. Raises `UserError` as `split`.
    """
    text, own = variant["text"], variant.get("own")
    if own is None:
        return split(text)[1]
    words = " ".join(f"{name}={_written(value)}" for name, value in own.items())
    return ordered(_given(text, words))


def whole_of(text: str) -> str | None:
    """Return the name of the whole network that a variant's text form begins with, if it does."""
    form = text.partition(" with ")[0].strip()
    return form if form in WHOLES else None


def _given(text: str, words: str) -> dict[str, Any]:
    hints, given = _hints(), {}
    for word in words.split():
        name, equals, value = word.partition("=")
        if not equals or name not in hints:
            raise UserError(f"{text!r}: {name} is no variant's own: it may set {', '.join(hints)}")
        if name in given:
            raise UserError(f"{text!r} sets {name} twice")
        given[name] = _read(hints[name], name, value)
    return given


def ordered(own: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in the order of the configuration's fields."""
    return {name: own[name] for name in _hints() if name in own}


def join(form: str, own: Mapping[str, Any]) -> str:
    """Return the text that `split` takes apart, a whole network's name where it is one."""
    for name, whole in WHOLES.items():
        its_form, its_own = split(whole.text)
        if form == its_form and its_own.items() <= own.items():
            return join(name, {k: v for k, v in own.items() if k not in its_own})
    if not own:
        return form
    return f"{form} with {' '.join(f'{name}={_written(value)}' for name, value in own.items())}"


def configure(config: ExperimentConfig, own: Mapping[str, Any]) -> ExperimentConfig:
    """Return the configuration of a variant's cells."""
    rooms: dict[str, dict[str, Any]] = {"model": {}, "training": {}}
    if _BLOCKS in own:
        rooms["model"] |= BLOCKS[own[_BLOCKS]]
    for name, value in own.items():
        if name == _BLOCKS:
            continue
        room, _, field = name.partition(".")
        rooms[room][field] = value
    return dc.replace(
        config,
        model=dc.replace(config.model, **rooms["model"]),
        training=dc.replace(config.training, **rooms["training"]),
    )


def _read(hint: Any, name: str, text: str) -> Any:
    """Return a value as its annotation wants it."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        if text in args:
            return text
        raise UserError(f"{name} is one of {', '.join(map(str, args))}, got {text!r}")
    if origin in (types.UnionType, typing.Union):
        if text.lower() == "none":
            return None
        return _read(next(a for a in args if a is not types.NoneType), name, text)
    if hint is bool:
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise UserError(f"{name} is true or false, got {text!r}")
    try:
        return hint(text)
    except (TypeError, ValueError):
        kind = "a whole number" if hint is int else "a number"
        raise UserError(f"{name} is {kind}, got {text!r}") from None


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
