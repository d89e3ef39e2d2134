"""The text form of an integrator, and back.

ledger                                a registered name
ledger(mu=0.95)                       with arguments
./mine.py:Mine(h=0.3)                 a class, function or value in a file of the user's own
compose(heavy_ball(mu=0.9), flat(), fixed(h=1.0))        any composition, axis by axis
"""

import ast
import dataclasses as dc
import functools
import inspect
import itertools
import re
import typing
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from velocity_ledger.errors import UserError
from velocity_ledger.integrators import _user_file
from velocity_ledger.integrators._composition import Composition
from velocity_ledger.integrators._contract import Integrator
from velocity_ledger.integrators._registry import arguments, builder, names
from velocity_ledger.integrators._value import Value, is_static
from velocity_ledger.integrators.coefficient import (
    Coefficient,
    Cosine,
    Drawn,
    Learned,
    LedgerGain,
    Linear,
    Signs,
    Table,
)
from velocity_ledger.integrators.geometry import Flat, Sphere, TangentSphere, TargetSphere
from velocity_ledger.integrators.momentum import (
    AdamsBashforth2,
    Euler,
    GatedTwoStage,
    HeavyBall,
    Heun,
    LookAhead,
    Preconditioned,
    RungeKutta4,
    Separate,
    TwoStage,
)
from velocity_ledger.integrators.preconditioner import Orthogonal, RightRoot, SecondMoment
from velocity_ledger.integrators.reading import Coast, Position
from velocity_ledger.integrators.splitting import LieTrotter, Macaron, Parallel, Strang, Whole
from velocity_ledger.integrators.step_scale import Alpha, Fixed

_PARTS: dict[str, type[Value]] = {
    "euler": Euler,
    "heavy_ball": HeavyBall,
    "look_ahead": LookAhead,
    "adams_bashforth": AdamsBashforth2,
    "heun": Heun,
    "rk4": RungeKutta4,
    "preconditioned": Preconditioned,
    "two_stage": TwoStage,
    "gated_two_stage": GatedTwoStage,
    "separate": Separate,
    "flat": Flat,
    "sphere": Sphere,
    "tangent_sphere": TangentSphere,
    "target_sphere": TargetSphere,
    "fixed": Fixed,
    "alpha": Alpha,
    "lie_trotter": LieTrotter,
    "strang": Strang,
    "macaron": Macaron,
    "parallel": Parallel,
    "whole": Whole,
    "position": Position,
    "coast": Coast,
    "learned": Learned,
    "linear": Linear,
    "cosine": Cosine,
    "table": Table,
    "ledger_gain": LedgerGain,
    "drawn": Drawn,
    "signs": Signs,
    "second_moment": SecondMoment,
    "orthogonal": Orthogonal,
    "right_root": RightRoot,
}
_PROBES = (0.37109375, 1.37109375)  # of any dtype, and no default
_LARGE = 3e38  # beyond it single precision has no number
_FORM = re.compile(r"^\s*(?:(?P<path>.+\.py):)?(?P<name>[A-Za-z_][\w-]*)\s*(?P<call>\(.*\))?\s*$")


def parse(form: str) -> Integrator:
    """Return the integrator that a text form stands for.

    Raises `UserError`, one sentence, for an unknown name or argument, a value out of range, or a
    file that cannot be read, does not run or holds no such integrator.
    """
    match = _FORM.match(form)
    if match is None:
        raise UserError(
            f"{form!r} is not an integrator: write ledger, ledger(mu=.95) or ./mine.py:Mine"
        )
    name = match["name"]
    positional, given = _arguments(form, match["call"])
    if match["path"] is not None:
        return _from_file(match["path"], name, positional, given)
    if name == "compose":
        return _call(Composition, form, positional, given)
    if positional:
        raise UserError(
            f"name the arguments of {name}: it takes {', '.join(arguments(builder(name)))}"
        )
    return _call(builder(name), name, [], given)


def text(integrator: Integrator) -> str:
    """Return the text form of an integrator: the shortest, with arguments that differ from default.

    `parse(text(integrator)) == integrator` for every registered composition and for every class
    in a file. An integrator without a text form gives its `repr`.
    """
    origin = getattr(integrator, "_origin", None)
    if origin is not None:
        path, name, given = origin
        return f"{path}:{name}{_brackets(given)}"
    seen = _seen(integrator)
    found = [(name, given) for name in names() if (given := _given(seen, name)) is not None]
    if found:
        # Several names may give one value: the fewest arguments say it best.
        name, given = min(found, key=lambda item: len(item[1]))
        return f"{name}{_brackets(given)}"
    if type(integrator) is Composition:
        return _compose(integrator)
    path = _user_file.written_path(type(integrator).__module__)
    if path is None:
        source = _user_file.source_of(integrator)
        path = None if source is None else str(source)
    if path is None:
        return repr(integrator)
    return f"{path}:{type(integrator).__qualname__}{_brackets(_changed(integrator))}"


def axes(integrator: Integrator) -> dict[str, str]:
    """Return the choice on each axis, as `compose` takes it; empty for an integrator without."""
    if not isinstance(integrator, Composition):
        return {}
    names = ["momentum", "geometry", "step_scale", "splitting"]
    if integrator.reading != Position():
        names.append("reading")
    try:
        return {name: _part(getattr(integrator, name)) for name in names}
    except KeyError:
        return {name: repr(getattr(integrator, name)) for name in names}


def _arguments(form: str, call: str | None) -> tuple[list[Any], dict[str, Any]]:
    try:
        node = ast.parse(f"_{call or '()'}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        node = None
    if not isinstance(node, ast.Call):
        raise UserError(_unreadable(form))
    return _of_call(form, node)


def _of_call(form: str, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    given: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise UserError(_unreadable(form))
        if keyword.arg in given:
            raise UserError(f"{form!r} gives {keyword.arg} twice")
        given[keyword.arg] = _literal(form, keyword.value)
    return [_literal(form, item) for item in node.args], given


def _unreadable(form: str) -> str:
    return f"the arguments of {form!r} cannot be read: write name=number, ..."


def _literal(form: str, node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        part = _PARTS.get(node.func.id)
        if part is None:
            raise UserError(f"no part is named {node.func.id}: choose one of {', '.join(_PARTS)}")
        return _call(part, node.func.id, *_of_call(form, node))
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        value = ...
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if isinstance(value, tuple) and all(map(_is_number, value)):
        return value
    try:
        said = ast.unparse(node)
    except RecursionError:
        raise UserError(_unreadable(form)) from None
    raise UserError(f"{form!r} holds {said!r}, which is no number, true or false")


def _call(build: Any, name: str, positional: list[Any], given: dict[str, Any]) -> Any:
    takes = arguments(build)
    if len(positional) > len(takes):
        raise UserError(f"{name} takes {len(takes)} arguments, got {len(positional)}")
    # By name from here on, so that every value is checked.
    for key, value in zip(takes, positional, strict=False):
        if key in given:
            raise UserError(f"{name} is given {key} twice")
        given = {key: value} | given
    for key, value in given.items():
        if key not in takes:
            can = f"it takes {', '.join(takes)}" if takes else "it takes none"
            raise UserError(f"{name} has no argument {key}: {can}")
        _check_kind(name, key, value, *takes[key])
    try:
        return build(**{k: _as(v, takes[k][1]) for k, v in given.items()})
    except UserError:
        raise
    except (Exception, SystemExit) as error:  # a user's own function or class may raise anything
        reason = (str(error).strip().splitlines() or [""])[0]
        raise UserError(f"{name} cannot be made: {type(error).__name__}: {reason}") from error


def _check_kind(name: str, key: str, value: Any, default: Any, annotation: Any) -> None:
    if isinstance(value, Coefficient) and Coefficient in typing.get_args(annotation):
        return
    if isinstance(default, tuple) != isinstance(value, tuple):
        shape = "numbers in brackets, (0.5, 0.9)" if isinstance(default, tuple) else "one number"
        raise UserError(f"{name}: {key} is {shape}, got {value!r}")
    if value is None and type(None) in typing.get_args(annotation):
        return
    number = _is_number(value)
    if isinstance(default, bool) and not isinstance(value, bool):
        raise UserError(f"{name}: {key} is True or False, got {value!r}")
    if isinstance(default, (int, float)) and not isinstance(default, bool) and not number:
        raise UserError(f"{name}: {key} is a number, got {value!r}")
    if default is None and value is not None and not number:
        raise UserError(f"{name}: {key} is a number or None, got {value!r}")
    for item in value if isinstance(value, tuple) else (value,):
        if isinstance(item, (int, float)) and not abs(item) < _LARGE:
            raise UserError(f"{name}: {key} must be a finite number")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _from_file(path: str, name: str, positional: list[Any], given: dict[str, Any]) -> Integrator:
    target = _user_file.load(path, name)
    if isinstance(target, Integrator):
        if positional or given:
            raise UserError(f"{path}:{name} is a value and takes no arguments")
        built = target.replace()
    elif callable(target):
        built = _call(target, name, positional, given)
    else:
        built = target
    if not isinstance(built, Integrator):
        raise UserError(f"{path}:{name} is not an integrator: subclass velocity_ledger.Integrator")
    if not inspect.isclass(target):
        # Only shown, never compared: how a value made by a function is written again.
        object.__setattr__(built, "_origin", (path, name, given))
    return built


@dc.dataclass(frozen=True)
class _Seen:
    """An integrator taken apart once, for every name it may have."""

    integrator: Integrator
    structure: Any
    leaves: list[Any]
    types: tuple[type, ...]
    fields: dict[str, list[Any]]
    """Values by the name of their field, outermost first."""


def _seen(integrator: Integrator) -> _Seen:
    leaves, structure = jax.tree.flatten(integrator)
    fields: dict[str, list[Any]] = {}
    _gather(integrator, fields)
    return _Seen(integrator, structure, leaves, _types(integrator), fields)


def _gather(value: Any, into: dict[str, list[Any]]) -> None:
    if isinstance(value, Value):
        for field in dc.fields(value):  # pyright: ignore[reportArgumentType]
            item = getattr(value, field.name)
            into.setdefault(field.name, []).append(item)
            _gather(item, into)


def _given(seen: _Seen, name: str) -> dict[str, Any] | None:
    """Return the arguments that make `name` this integrator, or None where none do.

    Arguments that are part of the program are looked for by their names, and, where no field has
    the name, tried with the words that the integrator holds. Where a number goes was found once,
    by building with another one and seeing which leaf it becomes.
    """
    build = builder(name)
    takes = _takes(build)
    found: dict[str, Any] = {}
    words: dict[str, list[Any]] = {}
    for key, (default, annotation, static) in takes.items():
        if not static:
            continue
        if key in seen.fields:
            value = _plain(seen.fields[key][0])
            if value != default:
                found[key] = _as(value, annotation)
        elif isinstance(default, (bool, str)):
            words[key] = [default, *_words(seen, type(default))]
    shape = _shape(build, tuple(found.items()))
    if shape is None or (shape.settled and shape.types != seen.types):
        return None
    for tried in itertools.product(*words.values()):
        given = {k: w for k, w in zip(words, tried, strict=True) if w != takes[k][0]}
        shape = _shape(build, tuple((found | given).items())) if given else shape
        if shape is not None and shape.structure == seen.structure:
            found |= given
            break
    else:
        return _parts_given(seen, build, takes) if _takes_parts(build) else None
    for key, place in shape.places.items():
        default, annotation, _ = takes[key]
        if place is not None and _plain(seen.leaves[place]) != default:
            found[key] = _as(_plain(seen.leaves[place]), annotation)
    return _if_it_is(seen.integrator, build, found)


def _parts_given(
    seen: _Seen, build: Any, takes: Mapping[str, tuple[Any, Any, bool]]
) -> dict[str, Any] | None:
    """As `_given` for arguments that are coefficients, by the names of fields."""
    found = {}
    for key, (default, annotation, _) in takes.items():
        value = seen.fields.get(key, [default])[0]
        if isinstance(value, Coefficient) or _plain(value) != default:
            found[key] = _as(_plain(value), annotation)
    return _if_it_is(seen.integrator, build, found)


def _if_it_is(integrator: Integrator, build: Any, found: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return found if build(**found) == integrator else None
    except (UserError, TypeError, ValueError):
        return None


@dc.dataclass(frozen=True)
class _Shape:
    """What a builder makes of its defaults and some arguments, and where each number goes."""

    structure: Any
    types: tuple[type, ...]
    settled: bool
    """Whether no argument is a part, so that the types of the parts are these."""
    places: dict[str, int | None]


@functools.cache
def _takes(build: Any) -> dict[str, tuple[Any, Any, bool]]:
    """Return the arguments: default, annotation, and whether it is looked for by its name."""
    return {
        key: (default, annotation, is_static(annotation) or default is None)
        for key, (default, annotation) in arguments(build).items()
    }


@functools.cache
def _takes_parts(build: Any) -> bool:
    """Whether an argument may be a coefficient or another part."""
    return any(
        isinstance(default, Value)
        or annotation is inspect.Parameter.empty
        or Coefficient in typing.get_args(annotation)
        for default, annotation, _ in _takes(build).values()
    )


@functools.lru_cache(maxsize=4096)
def _shape(build: Any, given: tuple[tuple[str, Any], ...]) -> _Shape | None:
    """Build once with these arguments, and once with a number for each other one."""
    takes, fixed = _takes(build), dict(given)
    try:
        made = build(**fixed)
    except (UserError, TypeError, ValueError):
        return None
    numbers = [key for key, (_, _, static) in takes.items() if key not in fixed and not static]
    settled = not any(isinstance(takes[key][0], Value) for key in numbers)
    places = {key: _place(build, fixed, key) for key in numbers}
    return _Shape(jax.tree.structure(made), _types(made), settled, places)


def _types(integrator: Integrator) -> tuple[type, ...]:
    """The types of an integrator and of its parts, coefficients aside."""
    parts = (getattr(integrator, f.name) for f in dc.fields(integrator))  # pyright: ignore[reportArgumentType]
    own = [type(p) for p in parts if isinstance(p, Value) and not isinstance(p, Coefficient)]
    return (type(integrator), *own)


def _place(build: Any, fixed: dict[str, Any], key: str) -> int | None:
    """Return which leaf an argument becomes as it is; None where it becomes none."""
    for probe in _PROBES:
        try:
            leaves = jax.tree.leaves(build(**fixed, **{key: probe}))
        except (UserError, TypeError):
            continue
        places = [k for k, leaf in enumerate(leaves) if leaf == probe]
        if places:
            return places[0]
    return None


def _words(seen: _Seen, kind: type) -> list[Any]:
    """The words, or yes and no, that an argument of this type may have been."""
    if kind is bool:
        return [True, False]
    held = (v for values in seen.fields.values() for v in values)
    return sorted({v for v in held if type(v) is kind})


def _compose(integrator: Composition) -> str:
    parts = [integrator.momentum, integrator.geometry, integrator.step_scale]
    if integrator.splitting != LieTrotter():
        parts.append(integrator.splitting)
    try:
        words = list(map(_part, parts))
        if integrator.reading != Position():
            words.append(f"reading={_part(integrator.reading)}")
        return f"compose({', '.join(words)})"
    except KeyError:
        return repr(integrator)


def _part(value: Value) -> str:
    """Return the text of a part; raises KeyError for one without a name."""
    name = next((name for name, part in _PARTS.items() if part is type(value)), None)
    if name is None:
        raise KeyError(type(value).__name__)
    return f"{name}({_items(_changed(value))})"


def _changed(value: Value) -> dict[str, Any]:
    return {
        f.name: _as(_plain(getattr(value, f.name)), f.type)
        for f in dc.fields(value)  # pyright: ignore[reportArgumentType]
        if f.default is dc.MISSING or _plain(getattr(value, f.name)) != f.default
    }


def _brackets(given: dict[str, Any]) -> str:
    return f"({_items(given)})" if given else ""


def _items(given: dict[str, Any]) -> str:
    return ", ".join(
        f"{key}={_part(value) if isinstance(value, Value) else repr(value)}"
        for key, value in given.items()
    )


def _as(value: Any, annotation: Any) -> Any:
    """Return a whole number as a float, unless the annotation says that it counts something."""
    if isinstance(value, tuple):
        return tuple(_as(item, annotation) for item in value)
    return float(value) if type(value) is int and not is_static(annotation) else value


def _plain(value: Any) -> Any:
    """Return a number as Python prints it; an array's is the shortest its dtype tells apart."""
    if isinstance(value, (bool, int, float, str, Value)) or value is None:
        return value
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    array = np.asarray(value)
    return float(str(array)) if array.ndim == 0 else value
