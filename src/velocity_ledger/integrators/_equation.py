"""The equation of an integrator, put together from what the docstrings of its parts say."""

import ast
import dataclasses as dc
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from velocity_ledger.integrators import _algebra
from velocity_ledger.integrators._algebra import Line
from velocity_ledger.integrators._composition import Composition
from velocity_ledger.integrators._contract import Integrator
from velocity_ledger.integrators._value import Value
from velocity_ledger.integrators.coefficient import Coefficient
from velocity_ledger.integrators.splitting import Splitting

_LINE = re.compile(r"^(F\(x\)|[A-Za-z_]\w*'*) *(=|->) *(.+)$")
_FIELDS = {"a": "attention", "m": "MLP", "m2": "second MLP"}
_GLOSSARY = {
    "P": "P(x, y) = y - (x . y) x / |x|^2 is the part of y that is tangent at x",
    "LN": "LN is a LayerNorm over the width without bias, with a learned gain",
    "sigmoid": "r_* are the raw parameters that are learned",
    "softplus": "r_* are the raw parameters that are learned",
}
_FOLDED: Any = {"identity": lambda call: call.args[0]}
_WIDTH = 8


@dc.dataclass(frozen=True)
class Equation:
    """What an integrator does in one sub-update, as assignments in the order they are made.

    `lines` hold expressions with the integrator's own values put in; `v'` is the new v, k counts
    sub-updates from 0, n is their number. `fields` are the sub-updates of a layer: what F is in
    each. Where a docstring has an equation that is not read, it stands in `verbatim` as it is and
    `lines` are empty. `notes` say what the symbols are.
    """

    lines: tuple[Line, ...] = ()
    fields: tuple[Line, ...] = ()
    normed: bool = True
    verbatim: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def text(self) -> list[str]:
        """Return the lines for a terminal, notes last."""
        shown = [_header(self.fields, self.normed)] if self.fields else []
        if self.fields:
            shown.append("F(x) = " + ", then ".join(_algebra.plain(f.value) for f in self.fields))
        for line in self.lines:
            arrow = "<-" if line.rewrites else "="
            when = f"    ({line.when})" if line.when else ""
            shown.append(f"{line.target} {arrow} {_algebra.plain(line.value)}{when}")
        return [*shown, *self.verbatim, *self.notes]

    def tex(self) -> list[str]:
        """Return the lines as TeX, without notes and what a and m are; none for a verbatim one."""
        shown = []
        if self.fields:
            parts = r",\ \text{then}\ ".join(_algebra.tex(f.value) for f in self.fields)
            shown.append(f"F(x) = {parts}")
        for line in self.lines:
            arrow = r"\leftarrow" if line.rewrites else "="
            when = rf" \quad ({_when_tex(line.when)})" if line.when else ""
            shown.append(f"{_algebra.symbol(line.target)} {arrow} {_algebra.tex(line.value)}{when}")
        return shown


def equation(integrator: Integrator) -> Equation:
    """Return what an integrator does in one sub-update, with its own values put in.

    Each part's docstring has its lines, in an indented block or between backticks; behind three
    spaces a line may say which settings it belongs to. What is there is read, the parts are joined
    through `f`, `direction` and `step`, and what adds or multiplies nothing is left out.
    """
    try:
        return _composed(integrator) if isinstance(integrator, Composition) else _alone(integrator)
    except (SyntaxError, KeyError):
        return Equation(verbatim=_verbatim(integrator))


def _alone(integrator: Integrator) -> Equation:
    lines, notes = _of(integrator)
    if not lines:
        raise SyntaxError("no equation")
    fields, _ = _of(integrator.splitting)
    lines = [dc.replace(line, value=_outer(line.value)) for line in lines]
    return _finished(lines, fields, integrator.pre_norm, notes)


def _outer(value: ast.expr) -> ast.expr:
    """Call the field F, where no geometry reads it."""
    return _algebra.replaced(value, {}, {"f": lambda c: _call("F", *c.args)})


def _composed(whole: Composition) -> Equation:
    momentum, notes = _of(whole.momentum)
    geometry, more = _of(whole.geometry)
    scale, most = _of(whole.step_scale)
    fields, _ = _of(whole.splitting)
    for part in (momentum, geometry, scale, fields):
        if not part:
            raise SyntaxError("no equation")
    if whole.reading.coasts:
        raise SyntaxError("a head that reads elsewhere")
    pulls = [line for line in geometry if line.rewrites and line.target == "f"]
    moves = [line for line in geometry if line not in pulls]
    before = [line for line in moves if not line.rewrites and line.target != "x'"]
    lines = [*before, *_pulled(momentum, pulls), *scale]
    lines += [line for line in moves if line not in before and not line.rewrites]
    # What the geometry says of v holds for all that momentum remembers.
    remembered = dict.fromkeys(line.target for line in momentum if line.target.endswith("'"))
    for line in moves:
        if line.rewrites:
            lines += [
                dc.replace(
                    line,
                    target=memory,
                    value=_algebra.replaced(line.value, {"v'": _algebra.name(memory)}),
                )
                for memory in remembered
            ]
    return _finished(
        _inlined(_inlined(lines, "direction"), "step"),
        fields,
        whole.pre_norm,
        [*notes, *more, *most],
    )


def _finished(
    lines: Sequence[Line], fields: Sequence[Line], normed: bool, notes: Sequence[str]
) -> Equation:
    functions = {
        function
        for line in lines
        for function in _GLOSSARY
        if any(_algebra.calls(line.value, function))
    }
    known = dict.fromkeys([*notes, *(_GLOSSARY[f] for f in _GLOSSARY if f in functions)])
    counted = any("k" in [*_algebra.variables(line.value), line.when[:1]] for line in lines)
    if counted:
        known["k = 0, ..., n - 1 counts the sub-updates"] = None
    if any(any(_algebra.calls(line.value, "F")) for line in lines):
        ordered = sorted(lines, key=lambda line: line.target.endswith("_0"))
        return Equation(_simple(ordered), _simple(fields), bool(normed), (), tuple(known))
    raise SyntaxError("an equation without a field")


def _simple(lines: Sequence[Line]) -> tuple[Line, ...]:
    return tuple(dc.replace(line, value=_algebra.simplified(line.value)) for line in lines)


def _pulled(momentum: Sequence[Line], pulls: Sequence[Line]) -> list[Line]:
    """The momentum's lines with the geometry's reading of F for f; one that repeats is named."""
    found: dict[str, ast.Call] = {}
    count = 0
    for line in momentum:
        for call in _algebra.calls(line.value, "f"):
            found[ast.unparse(call)] = call
            count += 1
    if len(found) == 1 and (count > 1 or pulls):
        (call,) = found.values()
        first = Line("f", _pull(_call("f", *call.args), pulls))
        name = {"f": lambda _: _algebra.name("f")}
        return [first, *(_with(line, name) for line in momentum)]
    return [_with(line, {"f": lambda call: _pull(call, pulls)}) for line in momentum]


def _with(line: Line, functions: Any) -> Line:
    return dc.replace(line, value=_algebra.replaced(line.value, {}, functions))


def _pull(call: ast.Call, pulls: Sequence[Line]) -> ast.expr:
    raw: ast.expr = _call("F", *call.args)
    for pull in pulls:
        raw = _algebra.replaced(pull.value, {"f": raw, "x": call.args[0]})
    return raw


def _call(function: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(_algebra.name(function), list(arguments), [])


def _inlined(lines: Sequence[Line], target: str) -> list[Line]:
    """Put a name's one value where the name stands, unless it is long and stands there twice."""
    made = [line for line in lines if line.target == target]
    uses = sum(_algebra.variables(line.value).count(target) for line in lines)
    if len(made) != 1 or made[0].when:
        return list(lines)
    value = _algebra.simplified(made[0].value)
    if uses > 1 and not isinstance(value, (ast.Name, ast.Constant)):
        return list(lines)
    return [
        dc.replace(line, value=_algebra.replaced(line.value, {target: value}))
        for line in lines
        if line is not made[0]
    ]


def _of(part: Value) -> tuple[list[Line], list[str]]:
    """The lines of a part that its settings choose, and what its coefficients do, before them."""
    settings = _settings(part)
    inner = _inner(part)
    if inner and _written(part):
        raise SyntaxError("lines of two parts that hold one another")
    if inner:
        # It holds another part of its kind, and says in a sentence what it makes of it.
        of = [_of(value) for value in inner]
        said = (inspect.getdoc(type(part)) or "").partition(".")[0]
        return [line for lines, _ in of for line in lines], [said, *(n for _, m in of for n in m)]
    learned = _learned(part)
    values: dict[str, ast.expr] = {}
    lines: list[Line] = []
    notes: list[str] = []
    for name, value in settings.items():
        if isinstance(value, Coefficient):
            more, said = _coefficient(name, value)
            lines += more
            notes += said
        elif name not in learned and not isinstance(value, (bool, str)) and value is not None:
            values[name] = _algebra.number(float(value))
    words = {n: _algebra.name(v) for n, v in settings.items() if isinstance(v, str)}
    for line in _written(part):
        chosen = _chosen(line.when, settings)
        if chosen is None:
            line = dc.replace(line, when="", note=line.note or line.when)
        elif chosen == "":
            continue
        else:
            line = dc.replace(line, when="" if chosen is True else chosen)
        functions = {n: (lambda c, w=w: _call(w.id, *c.args)) for n, w in words.items()}
        value = _algebra.replaced(line.value, values, functions)
        lines.append(dc.replace(line, value=_algebra.replaced(value, {}, _FOLDED)))
    return lines, notes


def _coefficient(name: str, value: Coefficient) -> tuple[list[Line], list[str]]:
    lines, notes = _of(value)
    raw = _algebra.name(f"r_{name}")
    found = []
    for line in lines:
        tree = _algebra.replaced(line.value, {"r": raw})
        if not isinstance(tree, ast.Name):  # Learned as it is: its name says it.
            found.append(dc.replace(line, target=name, value=tree))
        if line.note:
            notes.append(f"{name}: {line.note}")
    if not lines:
        raise SyntaxError("no equation")
    return found, notes


def _inner(part: Any) -> list[Value]:
    """The parts that a part holds, but for coefficients."""
    held = _settings(part).values()
    return [v for v in held if isinstance(v, Value) and not isinstance(v, Coefficient)]


def _settings(part: Any) -> dict[str, Any]:
    return {f.name: getattr(part, f.name) for f in dc.fields(part)}


def _learned(part: Any) -> set[str]:
    """Names that are learned as they are; a coefficient's stand for themselves anyway."""
    if isinstance(part, Coefficient) or not hasattr(part, "parameters"):
        return set()
    return set(part.parameters(_WIDTH))


def _chosen(when: str, settings: Mapping[str, Any]) -> bool | str | None:
    """True where the settings choose a line, "" where not, what stays open, None for no condition.

    Settings are the part's fields; k is known only when the stream runs.
    """
    if not when:
        return True
    try:
        tree = ast.parse(re.sub(r"(?<![!<>=])=(?!=)", "==", when), mode="eval").body
    except SyntaxError:
        return None
    if not all(isinstance(node, _CONDITION) for node in ast.walk(tree)):
        return None
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if names == {"k"}:
        return when
    if not names or not names <= set(settings):
        return None
    code = compile(ast.Expression(tree), "condition", "eval")
    return True if eval(code, {"__builtins__": {}}, dict(settings)) else ""


_CONDITION = (
    ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Name, ast.Constant, ast.Load, ast.And, ast.Or,
    ast.Not, ast.Is, ast.IsNot, ast.Eq, ast.NotEq, ast.Gt, ast.GtE, ast.Lt, ast.LtE,
)  # fmt: skip


def _written(part: Any) -> list[Line]:
    """All lines of a docstring's equations; raises `SyntaxError` for what is no assignment."""
    found = []
    for text in _statements(part):
        told, _, aside = (piece.strip() for piece in re.split(r"(\s{3,}|$)", text, maxsplit=1))
        when, _, note = (piece.strip() for piece in aside.partition(": "))
        for statement in told.split(";"):
            match = _LINE.match(statement.strip())
            if match is None:
                raise SyntaxError(f"{statement!r} is no assignment")
            value = _algebra.parse(match[3])
            found.append(Line(match[1], value, when, note, match[2] == "->"))
    return found


def _statements(part: Any) -> Iterator[str]:
    """What a docstring has in its indented blocks, and between backticks in its first paragraph."""
    doc = inspect.getdoc(type(part)) or ""
    for quoted in re.findall(r"`([^`]+)`", doc.split("\n\n")[0]):
        if re.search(r"(?<![+\-*<>!=])=(?!=)|->", quoted):
            yield " ".join(quoted.split())
    for line in doc.splitlines():
        if line.startswith("    "):
            yield line.strip()


def _verbatim(integrator: Integrator) -> tuple[str, ...]:
    """The equations of the parts as they stand, or a class's own words."""
    parts: list[Any] = [integrator]
    if isinstance(integrator, Composition):
        parts = [integrator.momentum, integrator.step_scale, integrator.geometry]
        parts += [integrator.reading] if integrator.reading.coasts else []
    for part in parts:
        parts += [inner for inner in _inner(part) if not isinstance(inner, Splitting)]
    lines = [re.sub(r" {3,}", "    ", line) for part in parts for line in _statements(part)]
    if lines:
        return tuple(dict.fromkeys(lines))
    first = (inspect.getdoc(type(integrator)) or "").split("\n\n")[0]
    return tuple(line for line in first.splitlines() if line)


def _used(fields: Sequence[Line]) -> list[str]:
    return [k for k in _FIELDS if any(any(_algebra.calls(f.value, k)) for f in fields)]


def _header(fields: Sequence[Line], normed: bool) -> str:
    reads = "norm(x)" if normed else "x"
    return ",  ".join(f"{k}(x) = {_FIELDS[k]}({reads})" for k in _used(fields))


def _when_tex(when: str) -> str:
    return when.replace(">=", r"\ge").replace("<=", r"\le")
