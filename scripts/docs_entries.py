"""The pages of the integrators, made from the registry: a new line there is a new entry here."""

import functools
import html
import inspect
import json
import re
from pathlib import Path
from typing import Any

import docs_svg

ROOT = Path(__file__).resolve().parents[1]
CONTRACT = ROOT / "docs" / "contract.json"
N = 12
"""Sub-updates of the responses that are drawn: those of the published model."""

_PICTURE = re.compile(r'<div class="response" data-entry="([^"]+)"></div>')
_KEY = re.compile(r"@\w+\{([^,]+),")


def contract_rows() -> dict[str, dict[str, str]]:
    """What the contract suite found, by name and check; nothing where it was not written down."""
    if not CONTRACT.is_file():
        return {}
    return json.loads(CONTRACT.read_text(encoding="utf-8"))


_MARKS = {"passes": "✓", "not declared": "–", "fails": "✗"}


def contract_table() -> str:
    """Every name by every check, by its number; a mark says more where one points at it."""
    rows = contract_rows()
    titles = list(dict.fromkeys(title for row in rows.values() for title in row))
    head = "".join(
        f'<th scope="col" title="{html.escape(title)}">{k}</th>'
        for k, title in enumerate(titles, 1)
    )
    lines = [f"<tr><th></th>{head}</tr>"]
    for name, row in rows.items():
        cells = [f'<th scope="row"><code>{html.escape(name)}</code></th>']
        for title in titles:
            mark = _MARKS[row[title].partition(":")[0]]
            told = html.escape(f"{name}, {title}: {row[title]}")
            cells.append(f'<td title="{told}">{mark}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    # The numbers again, for whoever has scrolled down.
    body = "\n".join([*lines, lines[0]])
    return f'<div class="contract">\n<table>\n{body}\n</table>\n</div>'


def entries(family: str) -> str:
    """Every registered integrator of a family, and the papers behind them."""
    from velocity_ledger.integrators import names, sources

    mine = [name for name in names() if _family(name) == family]
    papers = dict.fromkeys(paper for name in mine for paper in sources(name))
    sections = [*map(_entry, mine)]
    if papers:
        sections.append("## Sources")
        # Not headings, which would fill the table of contents.
        sections += [
            f'<span id="{_key(paper)}"></span>\n\n```bibtex\n{paper}\n```' for paper in papers
        ]
    return "\n\n".join(sections)


def parts(axis: str) -> str:
    """What can be chosen on an axis: names of the text form, classes, first sentences."""
    from velocity_ledger import integrators
    from velocity_ledger.integrators import _text

    bases = {
        "momentum": integrators.Momentum,
        "geometry": integrators.Geometry,
        "step_scale": integrators.StepScale,
        "splitting": integrators.Splitting,
        "coefficient": integrators.Coefficient,
    }
    lines = ["| part | what it does |", "| --- | --- |"]
    for name, part in _text._PARTS.items():
        if issubclass(part, bases[axis]):
            link = f"[`{name}`][velocity_ledger.integrators.{part.__name__}]"
            lines.append(f"| {link} | {_sentence(part)} |")
    return "\n".join(lines)


def index() -> str:
    """All names, each with its page."""
    from velocity_ledger.integrators import FAMILIES, equation, names, parse, summary

    lines = ["| name | about | what it does |", "| --- | --- | --- |"]
    for family in FAMILIES:
        for name in names():
            if _family(name) == family:
                assert equation(parse(name)).text(), f"{name} has no equation"
                about = family.replace("_", " ")
                lines.append(f"| [`{name}`]({family}.md#{name}) | {about} | {summary(name)} |")
    return "\n".join(lines)


def pictures(output: str) -> str:
    """Put the pictures in; late, so that the search does not find their labels."""
    return _PICTURE.sub(lambda found: picture(found[1]), output)


@functools.cache
def _family(name: str) -> str:
    from velocity_ledger.integrators import family, parse

    return family(parse(name))


def _entry(name: str) -> str:
    from velocity_ledger.cli._card import learned_line
    from velocity_ledger.experiment import PRESETS
    from velocity_ledger.experiment._detail import learned
    from velocity_ledger.integrators import axes, equation, parse, sources, summary

    integrator = parse(name)
    said = equation(integrator)
    facts = [f"**Made of** {', '.join(f'`{part}`' for part in axes(integrator).values())}."]
    if not axes(integrator):
        facts = ["**Made of** a rule of its own, outside the axes."]
    own = learned(integrator, PRESETS["paper"])
    lines = [re.sub(r"^(\w+):", r"`\1`:", learned_line(parameter)) for parameter in own]
    below = "".join(f"\n    - {line}." for line in lines) if len(lines) > 1 else ""
    facts.append(f"**Learned**{below}" if below else f"**Learned** {''.join(lines) or 'nothing'}.")
    times = integrator.evaluations
    often = "once" if times == 1 else f"{times} times"
    undone = "can" if integrator.invertible else "cannot"
    reads = "norm(x)" if integrator.pre_norm else "x as it is"
    facts.append(
        f"**Each field** reads {reads} and is evaluated {often}; a step {undone} be undone."
    )
    if sources(name):
        links = ", ".join(f"[{_key(paper)}](#{_key(paper)})" for paper in sources(name))
        facts.append(f"**Sources** {links}.")
    lines = [f"## {name} {{ #{name} }}", summary(name), _equation(said)]
    lines += [
        f'<div class="response" data-entry="{name}"></div>',
        "\n".join(f"- {f}" for f in facts),
    ]
    row = contract_rows().get(name)
    if row:
        cells = "\n".join(f"| {check} | {text} |" for check, text in row.items())
        lines.append(
            '<details markdown="1"><summary>Contract</summary>\n\n'
            f"| check | result |\n| --- | --- |\n{cells}\n\n</details>"
        )
    return "\n\n".join(lines)


def _equation(said: Any) -> str:
    if not said.tex():
        return "``` { .text .wrapped }\n" + "\n".join(said.text()) + "\n```"
    # `aligned` is not known to the converter.
    lines = [re.sub(r" (=|\\leftarrow) ", r" &\1 ", line, count=1) for line in said.tex()]
    # What takes turns stands line by line: one row would leave a narrow screen.
    lines = [line.replace(r",\ \text{then}", ", \\\\\n&\\ \\text{then}") for line in lines]
    block = " \\\\\n".join(lines)
    notes = "".join(f"- {_escaped(note)}\n" for note in said.notes)
    return f"$$\\begin{{split}}\n{block}\n\\end{{split}}$$" + (f"\n\n{notes}" if notes else "")


def _escaped(note: str) -> str:
    return re.sub(r"([\\*_|])", r"\\\1", note)


def _key(paper: str) -> str:
    found = _KEY.search(paper)
    return found[1] if found else "paper"


def _sentence(part: type) -> str:
    first = (inspect.getdoc(part) or "").split("\n\n")[0]
    return " ".join(first.split()).replace("|", r"\|")


@functools.cache
def _gain(name: str) -> tuple[tuple[float, ...], bool]:
    """Gains, and whether they are those of any state."""
    import numpy as np

    import velocity_ledger as vl

    gain, elsewhere = vl.impulse_response(vl.parse(name), N, at=(1.0, 0.5))
    return tuple(map(float, gain)), bool(np.allclose(elsewhere, gain, rtol=1e-4, atol=1e-6))


def picture(name: str) -> str:
    """The impulse response of a named integrator as a figure, in the page's colours."""
    gains, linear = _gain(name)
    told = " ".join(f"{gain + 0.0:.3g}" for gain in gains)
    where = "" if linear else " Linearised where every field pushes along the stream."
    alt = f"Gain of each of {N} sub-updates in the final state under {name}: {told}."
    drawn = _svg(name, gains).replace(
        "<svg ", f'<svg role="img" aria-label="{html.escape(alt)}" ', 1
    )
    return (
        f'<figure class="response">{drawn}'
        f"<figcaption>Thin line: plain.{where}</figcaption></figure>"
    )


def _svg(name: str, gains: tuple[float, ...]) -> str:
    from velocity_ledger.report import _style

    k = range(1, N + 1)
    with _style.style():
        import matplotlib as mpl

        # Ids differ from picture to picture of a page.
        mpl.rcParams |= {"svg.hashsalt": name, "font.size": 9}
        made = _style.figure(4.2, 1.9)
        axes = made.subplots()
        axes.plot(k, _gain("plain")[0], color=docs_svg.GREY, linewidth=1.0)
        axes.plot(k, gains, color=docs_svg.BLUE, marker="o", markersize=4)
        axes.set_xlabel("sub-update k", color=docs_svg.INK)
        axes.set_ylabel(r"gain of $f_k$ in $x_n$", color=docs_svg.INK, parse_math=True)
        low, high = min(0.0, *gains), max(1.0, *gains)
        axes.set_ylim(low - 0.08 * (high - low), high + 0.08 * (high - low))
        axes.set_xticks(k)
        axes.tick_params(colors=docs_svg.INK)
        axes.grid(axis="x", visible=False)
        # Laid out once by hand, for the longest labels: that is much quicker.
        made.subplots_adjust(left=0.15, right=0.985, bottom=0.24, top=0.96)
        return docs_svg.text_of(made)
