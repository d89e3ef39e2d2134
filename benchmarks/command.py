"""The command: words to a run, a file and tables."""

import argparse
import json
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import earlier, machine, others, settings, words
from benchmarks.bench import Bench
from benchmarks.entry import Parser, guarded, positive
from benchmarks.parts import PARTS
from velocity_ledger._files import try_folder, write_aside
from velocity_ledger.errors import UserError
from velocity_ledger.experiment._json import plain

BUSY = 0.5
"""From this load on, others were at work, too."""


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = Parser(
        prog="benchmarks",
        description="Measure the speed of training, side by side with the article's way, PyTorch "
        "and the lone matrix products, and of what else a user waits for.",
        epilog="Ratios are formed within rounds of one run; figures of two runs do not compare. "
        "The file is written after every part. With --only the other parts in it are kept, if they "
        "are of the same machine, libraries and source.",
        allow_abbrev=False,
    )
    made.add_argument("--out", type=Path, help="the JSON file; build/bench/<corner>.json")
    made.add_argument("--only", nargs="+", choices=tuple(PARTS), help="parts, default all")
    made.add_argument("--programs", nargs="+", metavar="PATTERN", help="of the part training")
    made.add_argument("--rounds", type=positive, help="alternating rounds")
    made.add_argument("--steps", type=positive, help="runs of each program in a round")
    made.add_argument("--quick", action="store_true", help="smoke-sized: measures nothing")
    made.add_argument("--torch-python", metavar="PATH", help="an interpreter that has PyTorch")
    return made


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status.

    0: done; 1: a program failed; 2: a mistake in the words, told in one line on standard error;
    130 and 143: stopped, with all workers, by SIGINT and SIGTERM.
    """
    return guarded("benchmarks", lambda: _run(parser().parse_args(arguments)))


def _run(options: argparse.Namespace) -> int:
    out = options.out or Path("build") / "bench" / f"{machine.corner()}.json"
    try_folder(out.parent)
    if out.is_dir():
        raise UserError(f"{out} is a folder: name a file with --out")
    torch = options.torch_python
    if torch is not None:
        if shutil.which(torch) is None:
            raise UserError(f"{torch} is no program: name the interpreter that has PyTorch")
        # Workers start elsewhere. Not resolved: behind the link is an interpreter without it.
        torch = str(Path(torch).absolute()) if Path(torch).exists() else torch
    bench = Bench(
        quick=options.quick,
        rounds=options.rounds,
        steps=options.steps,
        torch=torch,
        only=tuple(options.programs or ()),
    )
    found: dict[str, Any] = {"machine": machine.described(), "quick": options.quick}
    found["removed_from_the_environment"] = settings.clean()
    about = dict(found["machine"])
    if options.only:
        found |= earlier.parts(out, found)
    if (about["load"] or 0) > BUSY:
        told = f"load {about['load']} before the start: look whether others are at work here"
        print(f"benchmarks: {told}", file=sys.stderr)
    failed = False
    for name in options.only or PARTS:
        part, begin = PARTS[name], time.monotonic()
        # As the file has it: numbers that are none become null.
        made = found[name] = plain(part.measure(bench))
        made["took_s"] = round(time.monotonic() - begin, 1)
        made["of"] = {name: about[name] for name in ("date", "commit", "dirty", "load")}
        failed = failed or _failed(made)
        versions = {row["facts"].get("torch") for row in made.get("rows", ()) if "facts" in row}
        if versions - {None}:
            found["machine"]["torch"] = max(versions - {None})
        turns = others.of_turns([found[p] for p in PARTS if p in found])
        found["machine"]["others"] = others.told(turns)
        # After each part: whoever is tired of waiting keeps what there is.
        ordered = {k: v for k, v in found.items() if k not in PARTS}
        ordered |= {part: found[part] for part in PARTS if part in found}
        text = json.dumps(ordered, indent=1, allow_nan=False) + "\n"
        write_aside(out, lambda path, text=text: path.write_text(text, encoding="utf-8"))
        print(f"{part.told(made)}\n({name} took {words.seconds(made['took_s'])} s)\n", flush=True)
    taken = sum(found[name]["took_s"] for name in options.only or PARTS)
    print(f"all figures: {out}; {taken / 60:.0f} minutes")
    return int(failed)


def _failed(found: Any) -> bool:
    """Whether some row has an error."""
    if isinstance(found, dict):
        return isinstance(found.get("error"), str) or any(map(_failed, found.values()))
    return isinstance(found, list) and any(map(_failed, found))
