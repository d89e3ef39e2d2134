"""Write README's table of speeds from the runs that are kept in docs/.

python -m benchmarks.readme
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import figures, others, words
from benchmarks.driver import ROOT
from benchmarks.entry import Parser, guarded
from benchmarks.parts import training
from velocity_ledger._files import write_aside
from velocity_ledger.errors import UserError

README = ROOT / "README.md"
INFORMATION = ("torch-products-fp32", "torch-products-bf16")
"""Rows that are in the file alone."""
BEGIN, END = "<!-- speed -->", "<!-- end of speed -->"


def kept() -> list[Path]:
    """The runs that README speaks of."""
    return sorted((ROOT / "docs").glob("bench-*.json"))


def text(runs: Sequence[dict[str, Any]]) -> str:
    """The table and what each run was made on, from raw seconds.

    Programs stand in the order of the first run that has them.
    """
    rows = [figures.by_name(run["training"]["rows"]) for run in runs]
    names = dict.fromkeys(name for known in rows for name in known if name not in INFORMATION)
    titles = {name: row["title"] for known in rows for name, row in known.items()}
    whose = [f"{_corner(run)}: " for run in runs] if len(runs) > 1 else [""]
    figures_of_one = ("tokens/s", "to the article's way", "of the floor")
    columns = [corner + what for corner in whose for what in figures_of_one]
    head = ["program", *columns]
    lines = [head, ["---", *["---:"] * len(columns)]]
    for name in names:
        cells = [titles[name]]
        for known in rows:
            cells += _cells(known.get(name), list(known.values()))
        lines.append(cells)
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join([table, "\n".join(f"- {_made(run)}" for run in runs)])


def _cells(row: figures.Row | None, rows: Sequence[figures.Row]) -> list[str]:
    if row is None:
        return [words.NONE] * 3
    made = training.found(row, rows)
    return [
        words.count(made["tokens_per_second"]),
        words.ratio(made["to"]["article"]),
        words.share(made["of_the_floor"]),
    ]


def _corner(run: dict[str, Any]) -> str:
    about = run["machine"]
    python = ".".join(about["python"].split(".")[:2])
    return f"{python}, jax {'.'.join(about['jax'].split('.')[:2])}"


def _made(run: dict[str, Any]) -> str:
    about, part = run["machine"], run["training"]
    rows = [row for row in part["rows"] if row["error"] is None]
    rounds = rows[0]["seconds"]
    names = ("python", "jax", "flax", "torch")
    libraries = ", ".join(f"{name} {about[name]}" for name in names if about[name])
    date = part.get("of", about)["date"]
    told = [
        f"{date[:10]}, {about['cpu']}, {about['cores']} cores, {libraries}",
        f"{len(rounds)} rounds of {len(rounds[0])} runs each",
    ]
    told += filter(None, [others.told([t for row in rows for t in row["others"]])])
    told += filter(None, [training.alike(part["rows"])])
    if "left_out_of_the_floor" in part:
        told.append(f"the floor is {training.what_the_floor_is(part)}")
    told += [f"left out: {reason}" for reason in part["left_out"]]
    return "; ".join(told) + "."


def put(page: str, made: str) -> str:
    """The page with `made` between its marks."""
    marks = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    if not marks.search(page):
        raise UserError(f"README.md has no {BEGIN} ... {END}: put them where the table goes")
    return marks.sub(lambda _: f"{BEGIN}\n{made}\n{END}", page)


def main(arguments: Sequence[str]) -> int:
    """Run the command, which has no options, and return its exit status."""
    return guarded("readme", lambda: _run(arguments))


def _run(arguments: Sequence[str]) -> int:
    told = "Write README's table of speed anew, from the runs kept as docs/bench-*.json."
    Parser(prog="python -m benchmarks.readme", description=told).parse_args(arguments)
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in kept()]
    made = put(README.read_text(encoding="utf-8"), text(runs))
    write_aside(README, lambda path: path.write_text(made, encoding="utf-8"))
    print(f"README.md: {', '.join(path.name for path in kept())}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
