"""The comparison of many variants, from what `comparison_rows.py` wrote down."""

import html
import json
import textwrap
from pathlib import Path
from typing import Any

import docs_svg

FOUND = Path(__file__).resolve().parents[1] / "docs" / "comparison.json"


def comparison() -> str:
    """Command, what it ran on, intervals as a picture, tables, notes."""
    found = json.loads(FOUND.read_text(encoding="utf-8"))
    rows = found["rows"]
    first = rows[0]["variant"]
    packages = ", ".join(f"{k} {v}" for k, v in found["environment"].items() if v)
    corpus = found["corpus"]
    parts = [
        f"```sh\n{found['command']}\n```",
        f"Run on {found['device']}, {packages}; text {corpus['name']}, {corpus['characters']:,} "
        f"characters; {found['tokens_a_cell']:,} tokens a cell.",
        _picture(rows),
        _table(
            ["variant", "parameters", "rate", "best val, nats", f"minus {first} [95 %]"],
            [
                [_name(r), f"{r['parameters']:,}", f"{r['peak_rate']:g}",
                 f"{r['best_val']:.4f}", _interval(r["difference"])]
                for r in rows
            ],
        ),
        _table(
            ["variant", "path (null)", "turn, degrees (null)", "straightness (null)"],
            [
                [_name(r), _pair(r, "path_length", 2), _pair(r, "turning_angle", 1),
                 _pair(r, "straightness", 3)]
                for r in rows
            ],
        ),
        "\n".join(f"- {note}" for note in [*found["notes"], *_beyond(found)]),
    ]  # fmt: skip
    return "\n\n".join(parts)


def _beyond(found: dict[str, Any]) -> list[str]:
    trials = found.get("beyond", [])
    if not trials:
        return []
    told = (f"{t['variant']} at {t['rate']:g}: {t['val']:.4f}" for t in trials)
    where = "Beyond the sweep's edge, trials of the same length in a run of their own"
    return [f"{where}: {', '.join(told)}."]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f'<div class="numbers" markdown="1">\n\n{body}\n\n</div>'


def _name(row: dict[str, Any]) -> str:
    form, _, own = row["variant"].partition(" with ")
    return f"`{form}`" + "".join(f"<br>`{word}`" for word in own.split())


def _interval(difference: dict[str, Any] | None) -> str:
    if difference is None:
        return ""
    mean, low, high = (difference[k] for k in ("mean", "low", "high"))
    return f"{mean:+.4f}" + ("" if low is None else f" [{low:+.4f}, {high:+.4f}]")


def _pair(row: dict[str, Any], name: str, digits: int) -> str:
    value, null = row[name], row[f"null_{name}"]
    if value is None:
        return "-"
    return f"{value:.{digits}f}" + ("" if null is None else f" ({null:.{digits}f})")


def _picture(rows: list[dict[str, Any]]) -> str:
    """Every difference with its interval, in the table's order."""
    drawn = [row for row in rows if row["difference"] is not None]
    first = rows[0]["variant"]
    told = "; ".join(f"{r['variant']} {_interval(r['difference'])}" for r in drawn)
    alt = f"Best validation minus that of {first}, nats, 95 % intervals: {told}."
    caption = (
        f"Best validation minus that of {first} at the same seeds, mean and 95 % Student interval. "
        "Left of the line is a lower loss."
    )
    if any(r["match_difference"] for r in drawn):
        caption += f" Square: minus {first} in the variant's own size."
    drawing = _svg(drawn, first)
    drawing = drawing.replace("<svg ", f'<svg role="img" aria-label="{html.escape(alt)}" ', 1)
    return f'<figure class="comparison">{drawing}<figcaption>{caption}</figcaption></figure>'


def _svg(rows: list[dict[str, Any]], first: str) -> str:
    from velocity_ledger.report import _style

    with _style.style():
        import matplotlib as mpl

        mpl.rcParams |= {"svg.hashsalt": "comparison", "font.size": 9}
        tall = 0.6 + 0.28 * len(rows)
        made = _style.figure(6.4, tall)
        axes = made.subplots()
        axes.axvline(0, color=docs_svg.GREY, linewidth=1)
        for place, row in enumerate(rows):
            _bar(axes, row["difference"], place, docs_svg.BLUE, "o")
            if row["match_difference"]:
                _bar(axes, row["match_difference"], place + 0.28, docs_svg.ORANGE, "s")
        axes.set_yticks(range(len(rows)), [_label(row["variant"]) for row in rows])
        axes.locator_params(axis="x", nbins=6)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel(f"best validation minus {first}, nats", color=docs_svg.INK)
        axes.tick_params(colors=docs_svg.INK)
        axes.grid(axis="y", visible=False)
        made.subplots_adjust(left=0.41, right=0.98, bottom=0.5 / tall, top=1 - 0.06 / tall)
        return docs_svg.text_of(made)


def _label(variant: str) -> str:
    return textwrap.fill(variant.replace("training.", "").replace("model.", ""), 34)


def _bar(axes: Any, difference: dict[str, Any], place: float, colour: str, marker: str) -> None:
    mean, low, high = (difference[k] for k in ("mean", "low", "high"))
    if low is not None:
        axes.plot([low, high], [place, place], color=colour, linewidth=1.5)
    axes.plot([mean], [place], color=colour, marker=marker, markersize=5, linestyle="none")
