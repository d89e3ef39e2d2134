"""The text form of an integrator, and back.

ledger                                a registered name
ledger(mu=0.95)                       with arguments
./mine.py:Mine(h=0.3)                 a class, function or value in a file of the user's own
compose(heavy_ball(mu=0.9), flat(), fixed(h=1.0))        any composition, axis by axis
"""

import ast
import dataclasses as dc
import inspect
import re
import typing
from collections.abc import Iterator
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
    Drawn,
    Learned,
    LedgerGain,
    Linear,
    Signs,
)
from velocity_ledger.integrators.geometry import Flat, Sphere, TangentSphere, TargetSphere
from velocity_ledger.integrators.momentum import (
    AdamsBashforth2,
    Euler,
    HeavyBall,
    Heun,
    LookAhead,
    Preconditioned,
    RungeKutta4,
)
from velocity_ledger.integrators.preconditioner import Orthogonal, RightRoot, SecondMoment
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
    "learned": Learned,
    "linear": Linear,
    "ledger_gain": LedgerGain,
    "drawn": Drawn,
    "signs": Signs,
    "second_moment": SecondMoment,
    "orthogonal": Orthogonal,
    "right_root": RightRoot,
}
_PROBES = (0.37109375, 1.37109375)  # of any dtype, and no default
_LARGE = 1e300  # also where a whole number is no float any more
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
    found = [(name, given) for name in names() if (given := _given(integrator, name)) is not None]
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
    names = ("momentum", "geometry", "step_scale", "splitting")
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
    raise UserError(f"{form!r} holds {ast.unparse(node)!r}, which is no number, true or false")


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
    except Exception as error:  # a user's own function or class may raise anything
        reason = (str(error).strip().splitlines() or [""])[0]
        raise UserError(f"{name} cannot be made: {type(error).__name__}: {reason}") from error


def _check_kind(name: str, key: str, value: Any, default: Any, annotation: Any) -> None:
    if isinstance(value, Coefficient) and Coefficient in typing.get_args(annotation):
        return
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(default, bool) and not isinstance(value, bool):
        raise UserError(f"{name}: {key} is True or False, got {value!r}")
    if isinstance(default, (int, float)) and not isinstance(default, bool) and not number:
        raise UserError(f"{name}: {key} is a number, got {value!r}")
    if default is None and value is not None and not number:
        raise UserError(f"{name}: {key} is a number or None, got {value!r}")
    if isinstance(value, (int, float)) and not abs(value) < _LARGE:
        raise UserError(f"{name}: {key} must be a finite number")


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


def _given(integrator: Integrator, name: str) -> dict[str, Any] | None:
    """Return the arguments that make `name` this integrator, or None where none do.

    Arguments that are part of the program are looked for by their names; where a number goes is
    found by building with another one and seeing which leaf it becomes.
    """
    build = builder(name)
    takes = arguments(build)
    found: dict[str, Any] = {}
    for key, (default, annotation) in takes.items():
        if is_static(annotation) or default is None:
            value = next((_plain(v) for v in _named(integrator, key)), default)
            if value != default:
                found[key] = _as(value, annotation)
    leaves = jax.tree.leaves(integrator)
    try:
        if jax.tree.structure(build(**found)) != jax.tree.structure(integrator):
            return _parts_given(integrator, build, takes)
        fixed = dict(found)
        for key, (default, annotation) in takes.items():
            if is_static(annotation) or default is None:
                continue
            place = _place(build, fixed, key)
            if place is not None and _plain(leaves[place]) != default:
                found[key] = _as(_plain(leaves[place]), annotation)
        return found if build(**found) == integrator else None
    except (UserError, TypeError, ValueError):
        return None


def _parts_given(
    integrator: Integrator, build: Any, takes: dict[str, tuple[Any, Any]]
) -> dict[str, Any] | None:
    """As `_given` for arguments that are coefficients, by the names of fields."""
    found = {}
    for key, (default, annotation) in takes.items():
        value = next(_named(integrator, key), default)
        if isinstance(value, Coefficient) or _plain(value) != default:
            found[key] = _as(_plain(value), annotation)
    return found if build(**found) == integrator else None


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


def _named(value: Any, key: str) -> Iterator[Any]:
    """The values of the fields of this name, in the value and its parts."""
    if isinstance(value, Value):
        for field in dc.fields(value):  # pyright: ignore[reportArgumentType]
            item = getattr(value, field.name)
            if field.name == key:
                yield item
            yield from _named(item, key)


def _compose(integrator: Composition) -> str:
    parts = [integrator.momentum, integrator.geometry, integrator.step_scale]
    if integrator.splitting != LieTrotter():
        parts.append(integrator.splitting)
    try:
        return f"compose({', '.join(map(_part, parts))})"
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
    return float(value) if type(value) is int and not is_static(annotation) else value


def _plain(value: Any) -> Any:
    """Return a number as Python prints it; an array's is the shortest its dtype tells apart."""
    if isinstance(value, (bool, int, float, str, Value)) or value is None:
        return value
    array = np.asarray(value)
    return float(str(array)) if array.ndim == 0 else value
