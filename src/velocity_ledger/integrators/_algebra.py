"""Equations as they are written in docstrings: read, simplified, and written again.

`mu v + (1 - mu) f(x)` is a product, a sum and a call: a name with a bracket right behind it is a
call, with a space between them a product. `v'` is the new v, `|x|` a norm, `^` a power.
"""

import ast
import contextlib
import dataclasses as dc
import re
from collections.abc import Callable, Iterator, Mapping

_TOKEN = re.compile(r"\d+\.?\d*(?:e[+-]?\d+)?|\.\d+|[A-Za-z_]\w*|\*\*|[()+\-*/,]|\s+|.")
_PRIME = "__new"
_GREEK = {"mu", "beta", "gamma", "alpha", "nu", "eta", "delta", "sigma", "theta", "tau", "lambda"}
_SUM, _PRODUCT, _POWER, _ATOM = range(4)


@dc.dataclass(frozen=True)
class Line:
    """One assignment: what gets a value, the value, when it does, and what is said about it."""

    target: str
    value: ast.expr
    when: str = ""
    note: str = ""
    rewrites: bool = False
    """Written with an arrow: what is there already becomes this."""


def parse(text: str) -> ast.expr:
    """Return an expression; raises `SyntaxError` for what is none."""
    text = re.sub(r"\|([^|]+)\|", r"abs(\1)", text.replace("^", "**"))
    text = re.sub(r"([A-Za-z_]\w*)('+)", lambda m: m[1] + _PRIME * len(m[2]), text)
    written: list[str] = []
    spaced = False
    for token in _TOKEN.findall(text):
        if token.isspace():
            spaced = True
            continue
        before = written[-1] if written else ""
        ends = bool(re.match(r"[\w.]", before)) or before == ")"
        begins = bool(re.match(r"[\w.(]", token))
        call = token == "(" and re.match(r"[A-Za-z_]", before) and not spaced
        if ends and begins and not call:
            written.append("*")
        written.append(token)
        spaced = False
    tree = ast.parse("".join(written), mode="eval").body
    for node in ast.walk(tree):
        if not isinstance(node, _KNOWN):
            raise SyntaxError(f"{text!r} is no equation")
    return tree


_KNOWN = (
    ast.Constant, ast.Name, ast.Call, ast.BinOp, ast.UnaryOp, ast.Load,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub,
)  # fmt: skip


def name(text: str) -> ast.Name:
    """Return a variable; `v'` as it is written."""
    return ast.Name(text.replace("'", _PRIME), ast.Load())


def number(value: float) -> ast.expr:
    """Return a constant."""
    return ast.Constant(float(value))


def identifier(text: str) -> str:
    """Return a variable's name as it stands in a parsed expression."""
    return text.replace("'", _PRIME)


def variables(tree: ast.expr) -> list[str]:
    """Return the names of the variables, as often as they stand there; functions are none."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called]
    return [node.id.replace(_PRIME, "'") for node in found]


def calls(tree: ast.expr, function: str) -> Iterator[ast.Call]:
    """Yield the calls of a function."""
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name) and called.id == identifier(function):
            yield node  # pyright: ignore[reportReturnType]


class _Replace(ast.NodeTransformer):
    def __init__(
        self,
        values: Mapping[str, ast.expr],
        functions: Mapping[str, Callable[[ast.Call], ast.expr]],
    ) -> None:
        self._values, self._functions = values, functions

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id.replace(_PRIME, "'"), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        arguments = [self.visit(argument) for argument in node.args]
        new = ast.Call(node.func, arguments, [])
        assert isinstance(node.func, ast.Name)
        change = self._functions.get(node.func.id.replace(_PRIME, "'"))
        return new if change is None else change(new)


def replaced(
    tree: ast.expr,
    values: Mapping[str, ast.expr],
    functions: Mapping[str, Callable[[ast.Call], ast.expr]] | None = None,
) -> ast.expr:
    """Return the expression with variables, and calls, replaced."""
    copy = ast.parse(ast.unparse(tree), mode="eval").body
    return _Replace(values, functions or {}).visit(copy)


def simplified(tree: ast.expr) -> ast.expr:
    """Return the expression with its numbers worked out, less what adds or multiplies nothing.

    Nothing else is rearranged.
    """
    if isinstance(tree, ast.Call):
        return ast.Call(tree.func, [simplified(a) for a in tree.args], [])
    if isinstance(tree, ast.UnaryOp):
        inner = simplified(tree.operand)
        known = _number(inner)
        return ast.UnaryOp(tree.op, inner) if known is None else number(-known)
    if not isinstance(tree, ast.BinOp):
        return tree
    a, b = simplified(tree.left), simplified(tree.right)
    p, q = _number(a), _number(b)
    if p is not None and q is not None:
        with contextlib.suppress(ZeroDivisionError):
            return number(_OPERATIONS[type(tree.op)](p, q))
    if isinstance(tree.op, ast.Add):
        if p == 0:
            return b
        if q == 0:
            return a
        sign, positive = _sign(b)
        return ast.BinOp(a, ast.Add() if sign > 0 else ast.Sub(), positive)
    if isinstance(tree.op, ast.Sub):
        if q == 0:
            return a
        if p == 0:
            return simplified(ast.UnaryOp(ast.USub(), b))
    if isinstance(tree.op, ast.Mult):
        if p == 0 or q == 0:
            return number(0.0)
        if p == 1:
            return b
        if q == 1:
            return a
        if p == -1:
            return ast.UnaryOp(ast.USub(), b)
    if isinstance(tree.op, ast.Div) and q == 1:
        return a
    if isinstance(tree.op, ast.Pow) and q == 1:
        return a
    return ast.BinOp(a, tree.op, b)


_OPERATIONS: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}


def _number(tree: ast.expr) -> float | None:
    return float(tree.value) if isinstance(tree, ast.Constant) else None  # pyright: ignore[reportArgumentType]


def _sign(tree: ast.expr) -> tuple[int, ast.expr]:
    """The sign of a term, and the term without it."""
    if isinstance(tree, ast.UnaryOp):
        return -1, tree.operand
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Mult, ast.Div)):
        known = _number(tree.left)
        if known is not None and known < 0:
            return -1, ast.BinOp(number(-known), tree.op, tree.right)
    return 1, tree


def _level(tree: ast.expr) -> int:
    if isinstance(tree, ast.UnaryOp):
        return _SUM
    if isinstance(tree, ast.BinOp):
        if isinstance(tree.op, (ast.Add, ast.Sub)):
            return _SUM
        return _POWER if isinstance(tree.op, ast.Pow) else _PRODUCT
    known = _number(tree)
    return _SUM if known is not None and known < 0 else _ATOM


def _figure(value: float) -> str:
    return f"{value:.7g}"


@dc.dataclass(frozen=True)
class _Forms:
    """How the parts of an expression are written; an operation says what it binds on each side."""

    brackets: str
    variable: Callable[[str], str]
    call: Callable[[str, str], str]
    operations: Mapping[type, tuple[str, int, int]]


def _written(tree: ast.expr, forms: _Forms) -> str:
    def inside(part: ast.expr, level: int) -> str:
        text = _written(part, forms)
        return text if _level(part) >= level else forms.brackets % text

    if isinstance(tree, ast.Constant):
        return _figure(float(tree.value))  # pyright: ignore[reportArgumentType]
    if isinstance(tree, ast.Name):
        return forms.variable(tree.id.replace(_PRIME, "'"))
    if isinstance(tree, ast.Call):
        assert isinstance(tree.func, ast.Name)
        arguments = ", ".join(_written(argument, forms) for argument in tree.args)
        return forms.call(tree.func.id.replace(_PRIME, "'"), arguments)
    if isinstance(tree, ast.UnaryOp):
        return f"-{inside(tree.operand, _PRODUCT)}"
    assert isinstance(tree, ast.BinOp)
    form, left, right = forms.operations[type(tree.op)]
    return form % (inside(tree.left, left), inside(tree.right, right))


def plain(tree: ast.expr) -> str:
    """Return the expression in one line of letters."""
    return _written(tree, _PLAIN)


def _plain_call(function: str, arguments: str) -> str:
    return f"|{arguments}|" if function == "abs" else f"{function}({arguments})"


_PLAIN = _Forms(
    brackets="(%s)",
    variable=str,
    call=_plain_call,
    operations={
        ast.Add: ("%s + %s", _SUM, _SUM),
        ast.Sub: ("%s - %s", _SUM, _PRODUCT),
        ast.Mult: ("%s %s", _PRODUCT, _PRODUCT),
        ast.Div: ("%s / %s", _PRODUCT, _POWER),
        ast.Pow: ("%s^%s", _ATOM, _ATOM),
    },
)


def tex(tree: ast.expr) -> str:
    """Return the expression as TeX."""
    return _written(tree, _TEX)


def _tex_call(function: str, arguments: str) -> str:
    known = {"abs": r"\lvert %s \rvert", "sqrt": r"\sqrt{%s}"}
    return known[function] % arguments if function in known else f"{symbol(function)}({arguments})"


def symbol(text: str) -> str:
    """Return a variable or a function as TeX: `mu_k'`, `x`, `direction`."""
    bare = text.rstrip("'")
    head, _, index = bare.partition("_")
    head, digits = re.fullmatch(r"(.*?)(\d*)", head).groups()  # pyright: ignore[reportOptionalMemberAccess]
    below = ",".join(part for part in (digits, *index.split("_")) if part)
    if head in _GREEK:
        head = f"\\{head}"
    elif len(head) > 1:
        head = rf"\mathrm{{{head}}}"
    if below:
        long = below in _GREEK
        below = f"\\{below}" if long else below if len(below) < 3 else rf"\mathrm{{{below}}}"
        head = f"{head}_{{{below}}}"
    primes = "\\prime " * (len(text) - len(bare))
    return f"{head}^{{{primes.strip()}}}" if primes else head


_TEX = _Forms(
    brackets=r"\left(%s\right)",
    variable=symbol,
    call=_tex_call,
    operations={
        ast.Add: ("%s + %s", _SUM, _SUM),
        ast.Sub: ("%s - %s", _SUM, _PRODUCT),
        ast.Mult: (r"%s \, %s", _PRODUCT, _PRODUCT),
        ast.Div: (r"\frac{%s}{%s}", _SUM, _SUM),
        ast.Pow: ("%s^{%s}", _ATOM, _SUM),
    },
)
