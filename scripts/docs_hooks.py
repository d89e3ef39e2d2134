"""What the documentation takes from the code: tables, names, MathML; and what it must not say.

MkDocs calls the functions by name. Equations become MathML here, since every browser draws it
without a script or a network, and latex2mathml is one well-kept package without dependencies.
"""

import ast
import dataclasses as dc
import html
import inspect
import itertools
import os
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docs_comparison
import docs_entries
import docs_prints

os.environ.setdefault("JAX_PLATFORMS", "cpu")

SOURCE = Path(__file__).resolve().parents[1] / "src" / "velocity_ledger"
WIDTH = 192

_API = re.compile(r"^<!-- api: (\w+) -->$", re.MULTILINE)
_ENTRIES = re.compile(r"^<!-- entries: (\w+) -->$", re.MULTILINE)
_PARTS = re.compile(r"^<!-- parts: (\w+) -->$", re.MULTILINE)
_MATH = re.compile(r'(<(span|div) class="arithmatex">)\\[(\[](.*?)\\[)\]](</\2>)', re.DOTALL)
_PRIVATE = re.compile(r"\b(?:velocity_ledger|[a-z]+)(?:\.[a-z_]+)*\._[a-z]\w*")
_LOADED = re.compile(r'<(?:script|img|iframe|link rel="(?:stylesheet|icon)")[^>]+"(?:https?:)?//')


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put in what is generated, where a page asks for it."""
    if "<!-- prints -->" in markdown:
        markdown = docs_prints.printed(markdown, page.file.src_uri)
    for mark, made in (
        ("<!-- variants -->", _variants),
        ("<!-- presets -->", _presets),
        ("<!-- commands -->", _commands),
        ("<!-- checks -->", _checks),
        ("<!-- blocks -->", _blocks),
        ("<!-- block costs -->", _block_costs),
        ("<!-- index -->", docs_entries.index),
        ("<!-- contract table -->", docs_entries.contract_table),
        ("<!-- comparison -->", docs_comparison.comparison),
    ):
        if mark in markdown:
            markdown = markdown.replace(mark, made())
    markdown = _ENTRIES.sub(lambda m: docs_entries.entries(m[1]), markdown)
    markdown = _PARTS.sub(lambda m: docs_entries.parts(m[1]), markdown)
    return _API.sub(lambda m: _names() if m[1] == "names" else _room(m[1]), markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Turn the TeX of equations into MathML."""
    return _MATH.sub(_mathml, html)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page that names a private module, or loads anything from elsewhere."""
    from mkdocs.exceptions import PluginError

    private, loaded = _PRIVATE.search(re.sub(r"<[^>]*>", "", output)), _LOADED.search(output)
    if private is None:
        private = re.search(r'"[^"]*velocity_ledger[\w.]*\._[a-z]\w*', output)
    if private:
        raise PluginError(f"{page.file.src_uri} names what is private: {private[0]}")
    if loaded:
        raise PluginError(f"{page.file.src_uri} would load from a network: {loaded[0]}")
    return docs_entries.pictures(output)


def _mathml(found: re.Match[str]) -> str:
    from latex2mathml.converter import convert

    display = "block" if found[2] == "div" else "inline"
    return found[1] + convert(html.unescape(found[3]).strip(), display=display) + found[4]


def _exports(path: Path) -> Iterator[tuple[str, str]]:
    """Name and room of what a module exports as `X as X`, or defines in public."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("velocity_ledger."):
            room = str(node.module).split(".")[1]
            yield from ((alias.name, room) for alias in node.names if alias.asname == alias.name)
        elif isinstance(node, ast.ClassDef) and path.name != "__init__.py":
            yield node.name, path.stem


def _room(room: str) -> str:
    """The room's own words, then everything that it exports."""
    import importlib

    module: Any = importlib.import_module(f"velocity_ledger.{room}")
    path = SOURCE / room / "__init__.py"
    names = sorted({name for name, _ in _exports(path if path.exists() else SOURCE / f"{room}.py")})
    blocks = [inspect.getdoc(module) or ""]
    for name in names:
        item = f"::: velocity_ledger.{room}.{name}"
        if call := _call(name, getattr(module, name)):
            # Its fields are this call; the rest is what its base class says.
            item += f"\n    options:\n      members: false\n\nMade as `{call}`."
        blocks.append(item)
    return "\n\n".join(blocks)


def _call(name: str, thing: Any) -> str:
    """How a value is made, its fields with their defaults; empty for anything else."""
    from velocity_ledger.integrators import Value

    if not (inspect.isclass(thing) and issubclass(thing, Value)):
        return ""
    fields = inspect.signature(thing).parameters.values()
    given = [p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in fields]
    return f"{name}({', '.join(given)})" if given else ""


def _names() -> str:
    """The names of the package's door, by room."""
    rooms: dict[str, list[str]] = {}
    for name, room in _exports(SOURCE / "__init__.py"):
        rooms.setdefault(room, []).append(name)
    lines = ["| room | names |", "| --- | --- |"]
    for room, names in rooms.items():
        links = ", ".join(f"[`{n}`][velocity_ledger.{room}.{n}]" for n in sorted(names))
        lines.append(f"| [{room}]({room}.md) | {links} |")
    return "\n".join(lines)


def _variants() -> str:
    """The registered integrators, as the registry has them."""
    import jax
    import jax.numpy as jnp

    import velocity_ledger as vl
    from velocity_ledger.integrators import summary
    from velocity_ledger.model import ModelConfig, declared_by

    x = jax.ShapeDtypeStruct((WIDTH,), jnp.float32)
    lines = [
        "| name | update | made of | learned, a sub-update | memory, a token | fields read |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in vl.names():
        integrator = vl.parse(name)
        own = declared_by(integrator, ModelConfig(width=WIDTH))
        learned = [f"{n} {list(p.shape)}" for n, p in own.items()]
        parts = [repr(part) for part in _parts(integrator)]
        ctx = vl.Context(0, {n: jnp.zeros(p.shape) for n, p in own.items()})
        _, state = jax.eval_shape(lambda x, i=integrator, c=ctx: i.init(x, c), x)
        floats = sum(leaf.size for leaf in jax.tree.leaves(state))
        cells = [
            f"`{name}`",
            summary(name),
            "<br>".join(f"`{part}`" for part in parts),
            ", ".join(learned) or "nothing",
            f"{floats} numbers" if floats else "none",
            "norm(x)" if integrator.pre_norm else "x",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"Sizes are those of a stream of width {WIDTH}."])


def _presets() -> str:
    """Every field of the presets' models and training, with what it is."""
    from velocity_ledger import PRESETS

    tables = []
    for part in ("model", "training"):
        values = [getattr(config, part) for config in PRESETS.values()]
        about = _field_docs(inspect.getsource(type(values[0])))
        lines = [f"| option | {' | '.join(PRESETS)} | what it is |", "| --- " * 5 + "|"]
        for field in dc.fields(values[0]):
            given = " | ".join(_shown(getattr(value, field.name)) for value in values)
            option = f"--{part}.{field.name.replace('_', '-')}"
            lines.append(f"| `{option}` | {given} | {about.get(field.name, '')} |")
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def _block_settings() -> list[dc.Field[Any]]:
    """What blocks are made of: all settings of the model but its sizes and how a run uses it."""
    from velocity_ledger.model import BLOCKS, ModelConfig

    named = {*BLOCKS["gpt"], "kv_heads"}
    return [field for field in dc.fields(ModelConfig) if field.name in named]


def _blocks() -> str:
    """Every setting of the blocks, as the named sets have it."""
    from velocity_ledger.model import BLOCKS, ModelConfig

    about = _field_docs(inspect.getsource(ModelConfig))
    lines = [f"| setting | {' | '.join(BLOCKS)} | what it is |", "| --- " * 5 + "|"]
    for field in _block_settings():
        sets = [_word(made.get(field.name, "any")) for made in BLOCKS.values()]
        # What a set has otherwise than the published network stands out.
        sets = [f"**{own}**" if own != sets[0] else own for own in sets]
        name = f"[`{field.name}`](#{field.name})"
        lines.append(f"| {name} | {' | '.join(sets)} | {about[field.name]} |")
    return "\n".join(lines)


def _block_costs() -> str:
    """What each setting alone, away from its default, changes of the published network."""
    from velocity_ledger.experiment import PRESETS, describe
    from velocity_ledger.model import BLOCKS, ModelConfig

    hints = typing.get_type_hints(ModelConfig)
    texts = ["plain"]
    for field in _block_settings():
        texts.append(f"plain with model.{field.name}={_word(_other(field, hints[field.name]))}")
    texts += [f"plain with blocks={name}" for name in BLOCKS if name != "gpt"] + ["ngpt"]
    rows = describe(dc.replace(PRESETS["paper"], variants=tuple(texts)))
    plain = rows[0]
    lines = ["| variant | parameters | more | FLOPs |", "| --- | --: | --: | --: |"]
    for row in rows:
        more = row["parameters"] - plain["parameters"]
        cost = row["flops_per_step"] / plain["flops_per_step"]
        cells = [f"{row['parameters']:,}", f"{more:+,}" if more else "", f"{cost:.2f} x"]
        lines.append(f"| `{row['variant']}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _other(field: dc.Field[Any], hint: Any) -> Any:
    """A value of a setting that is not its default."""
    default: Any = field.default
    if hint is bool:
        return not default
    if hint is float:
        return default / 2
    if field.name == "kv_heads":
        return 1
    return next(choice for choice in typing.get_args(hint) if choice != default)


def _word(value: Any) -> str:
    """A value as it is written in a variant's text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value))
    return f"{value:,}" if type(value) is int else str(value)


def _field_docs(source: str) -> dict[str, str]:
    """The text below each field of a class."""
    (body,) = (n.body for n in ast.parse(source).body if isinstance(n, ast.ClassDef))
    found = {}
    for field, text in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            constant = text.value if isinstance(text, ast.Expr) else None
            if isinstance(constant, ast.Constant):
                found[field.target.id] = " ".join(str(constant.value).split())
    return found


def _commands() -> str:
    """Every command in the words of its `--help`."""
    from velocity_ledger.cli.verbs import VERBS

    sections = []
    for name, verb in VERBS.items():
        about, _, example = (inspect.getdoc(verb) or "").partition("\nFor example:\n")
        sections.append(f"### {name}\n\n{about}\n\n{example}")
    return "\n\n".join(sections)


def _checks() -> str:
    """Every check of the contract in the words of its docstring, and the faults it catches."""
    import sys

    sys.path.append(str(SOURCE.parents[1] / "tests"))
    from contract.planted import FAULTS  # pyright: ignore[reportMissingImports]
    from velocity_ledger.contract import CHECKS, meaning, title

    lines = ["| | check | what it means | planted faults that it catches |", "| --- " * 4 + "|"]
    for k, check in enumerate(CHECKS, 1):
        faults = [f"`{fault.name}`" for fault in FAULTS if check in fault.checks]
        lines.append(f"| {k} | {title(check)} | {meaning(check)} | {', '.join(faults)} |")
    return "\n".join(lines)


def _parts(integrator: Any) -> list[Any]:
    import velocity_ledger as vl

    if isinstance(integrator, vl.Composition):
        return [integrator.momentum, integrator.geometry, integrator.step_scale]
    return [integrator]
