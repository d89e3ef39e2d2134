"""The page of a run: everything in one file."""

import importlib.resources
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from velocity_ledger._files import try_folder, write_aside
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import Bundle, notes, open_bundle, summary
from velocity_ledger.report._data import FIGURES, variants as measured_variants
from velocity_ledger.report.motion import write_animations
from velocity_ledger.report.page import _facts
from velocity_ledger.report.page._captions import captions
from velocity_ledger.report.page._charts import charts, dashes
from velocity_ledger.report.page._embed import Moving, json_for_script, moving, policy
from velocity_ledger.report.page._glance import HEIGHT, WIDTH, glance
from velocity_ledger.report.page._paths import measurements
from velocity_ledger.report.page._tables import tables
from velocity_ledger.report.page._verdict import verdict

NAME = "report.html"
_SCRIPTS = ("plot.js", "figures.js", "controls.js")


def write_page(
    bundle_path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None
) -> Path:
    """Write the page of a run, finished or not, from its bundle alone, and return its path.

    One HTML file, by default `report.html` in the bundle: the verdict, moving and interactive
    figures, tables, samples, configuration. It loads nothing, from a network or beside it. Moving
    pictures that `render` left in the bundle are taken where the run has not gone on since.

    Raises `UserError` for a folder that is no bundle and an `out` that cannot be written.
    """
    bundle = open_bundle(bundle_path)
    path = Path(out) if out is not None else Path(bundle_path) / NAME
    if path.is_dir():
        raise UserError(f"{path} is a folder: name a file for --out, for example {path / NAME}")
    try_folder(path.parent)
    with tempfile.TemporaryDirectory(prefix="velocity-ledger-") as folder:
        kept = bundle.path / FIGURES
        pictures = [moving(gif) for gif in write_animations(bundle, Path(folder), kept)]
    text = page(bundle, pictures)
    write_aside(path, lambda aside: aside.write_bytes(text.encode("utf-8", "replace")))
    return path


def page(bundle: Bundle, pictures: Sequence[Moving]) -> str:
    """The page as text."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("velocity_ledger.report.page", "assets"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["subscripts"] = _subscripts
    rows, found = summary(bundle), measured_variants(bundle)
    measured = measurements(found)
    style = _asset("page.css") + _dash_rules()
    program = "".join(_asset(name) for name in _SCRIPTS)
    script = f"(() => {{\n'use strict';\n{program}}})();"
    context: dict[str, Any] = {
        "policy": policy(style, script),
        # Ours, and free of anything from the bundle: the policy names their hashes.
        "style": Markup(style),
        "script": Markup(script),
        "run": bundle.path.resolve().name,
        "rows": rows,
        "verdict": verdict(bundle, measured),
        "glance": glance(rows, measured),
        "glance_size": (WIDTH, HEIGHT),
        "nulls": any(m.null is not None for m in measured),
        "pictures": [(p, *captions(bundle, p.name)) for p in pictures],
        "charts": json_for_script(charts(bundle, found)),
        "tables": tables(bundle, measured),
        "samples": _samples(bundle),
        "facts": _facts.facts(bundle),
        "command": _facts.command(bundle),
        "sessions": _facts.sessions(bundle),
        "notes": notes(bundle),
        "definitions": _facts.DEFINITIONS,
        "caveats": _facts.CAVEATS,
    }
    return environment.get_template("page.html").render(context)


def _subscripts(text: str) -> Markup:
    """`x_k` and `x_(k-1)` with true subscripts."""
    return Markup(re.sub(r"_(?:\(([^)]*)\)|(\w))", r"<sub>\1\2</sub>", str(escape(text))))


def _asset(name: str) -> str:
    return (importlib.resources.files("velocity_ledger.report.page") / "assets" / name).read_text(
        encoding="utf-8"
    )


def _dash_rules() -> str:
    """Solid lines and their dashes, by the variant's place; seeds and null models are thin."""
    return "".join(
        f".line.d{k}, .swatch.d{k} path {{ stroke-dasharray: {dash}; }}\n"
        for k, dash in enumerate(dashes())
    )


def _samples(bundle: Bundle) -> list[dict[str, Any]]:
    order = {variant["text"]: k for k, variant in enumerate(bundle.variants)}
    found = []
    for (text, seed), sample in getattr(bundle, "samples", {}).items():
        names = {"step": "step {:,}", "temperature": "temperature {}", "top_k": "top-k {}"}
        about = [
            words.format(sample[name])
            for name, words in names.items()
            if isinstance(sample.get(name), (int, float))
        ]
        found.append(
            {
                "index": order.get(text, 0),
                "variant": text,
                "seed": seed,
                "about": ", ".join(about),
                "prompt": str(sample.get("prompt", "")),
                "text": str(sample.get("text", "")),
            }
        )
    return found
