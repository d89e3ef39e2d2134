"""Whether products in another precision train as well: paired seeds, the same steps, both ways.

    python -m benchmarks.precisions --text moby-shakespeare.txt

The published network and schedule, ended after so many steps, once in fp32 and once in each other
precision, as two bundles that differ in nothing else. Told are the validation losses there, their
paired differences with a 95 % interval of Student's t over seeds, and how far every number that the
integrator learns has moved. Stopped by Ctrl-C, it goes on where it was with `--resume`.
"""

import argparse
import dataclasses as dc
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.entry import Parser, existing, guarded, positive
from velocity_ledger._files import try_folder, write_aside
from velocity_ledger._table import aligned
from velocity_ledger.experiment._config import PRESETS, ExperimentConfig

PROGRAM = "precisions"
REFERENCE = "fp32"
OTHERS = ("bf16", "tf32")
BOUND = 0.01
"""Nats a character by which the mean may differ."""
LEARNED = "learned_"


def parser() -> argparse.ArgumentParser:
    """The options."""
    preset = PRESETS["paper"]
    made = Parser(
        prog="python -m benchmarks.precisions",
        description="Train paired seeds in fp32 and in another precision, and compare.",
        allow_abbrev=False,
    )
    made.add_argument(
        "--text",
        type=existing,
        help=f"a text file, a gzip file or a folder of text files; default {preset.corpus}",
    )
    made.add_argument(
        "--out", type=Path, default=Path("build") / "precisions", help="default %(default)s"
    )
    made.add_argument("--resume", action="store_true", help="go on with what is in that folder")
    made.add_argument("--precision", choices=OTHERS, default="bf16", help="default %(default)s")
    made.add_argument("--variant", default="ngpt-ledger", help="default %(default)s")
    made.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], help="default 0 1 2")
    made.add_argument("--steps", type=positive, default=1000, help="updates, default %(default)s")
    made.add_argument("--quick", action="store_true", help="smoke-sized: shows nothing")
    return made


def main(arguments: Sequence[str], own_process: bool = False) -> int:
    """Run the command and return its exit status.

    0: the means lie within the bound of each other; 1: they do not, or a run diverged; 2: a mistake
    in the words, told in one line; 130 and 143: stopped by SIGINT and SIGTERM, and saved.
    """
    return guarded(PROGRAM, lambda: _run(arguments, own_process))


def _run(arguments: Sequence[str], own_process: bool) -> int:
    options = parser().parse_args(arguments)
    if own_process:
        from velocity_ledger.machine import compile_cache_environment, start_anew

        start_anew()
        os.environ.update(compile_cache_environment())
    out: Path = options.out
    try_folder(out)
    from velocity_ledger.experiment import open_bundle, run_experiment

    bundles = {}
    for precision in (REFERENCE, options.precision):
        folder = out / precision
        begun = options.resume and (folder / "manifest.json").exists()
        status = run_experiment(
            configured(options, precision),
            folder,
            resume=begun,
            stop_after=options.steps,
            command=["python", "-m", "benchmarks.precisions", *arguments],
        )
        if status:
            return status
        bundles[precision] = open_bundle(folder)
    found = {"machine": machine.described(), "steps": options.steps, **figures(bundles)}
    file = out / "precisions.json"
    text = json.dumps(found, indent=1) + "\n"
    write_aside(file, lambda aside: aside.write_text(text, encoding="utf-8"))
    print(told(found))
    print(f"\nall figures: {file}")
    return 0 if found["within"] else 1


def configured(options: argparse.Namespace, precision: str) -> ExperimentConfig:
    """The published preset, or the smallest, in one precision."""
    preset = PRESETS["smoke" if options.quick else "paper"]
    return dc.replace(
        preset,
        variants=(options.variant,),
        seeds=tuple(options.seeds),
        model=dc.replace(preset.model, precision=precision),
        corpus=preset.corpus if options.text is None else str(options.text),
    )


def figures(bundles: Mapping[str, Any]) -> dict[str, Any]:
    """Losses by precision and seed at the last validation, what was learned, and the difference."""
    from velocity_ledger.telemetry import paired_difference

    losses: dict[str, dict[int, float]] = {}
    moved: dict[str, dict[str, list[float]]] = {}
    rates: dict[str, list[float | None]] = {}
    for precision, bundle in bundles.items():
        losses[precision] = {}
        moved[precision] = {}
        rates[precision] = [cell.tokens_per_second for cell in bundle.cells]
        for (_, seed), data in bundle.datasets.items():
            losses[precision][seed] = float(data["val_loss"].values[-1])
            for name in [str(n) for n in data.data_vars if str(n).startswith(LEARNED)]:
                values = np.asarray(data[name].values, np.float64)
                farthest = float(np.abs(values[-1] - values[0]).max())
                moved[precision].setdefault(name.removeprefix(LEARNED), []).append(farthest)
    reference, other = losses.values()
    of = paired_difference([other[seed] for seed in reference], list(reference.values()))
    return {
        "variant": next(iter(bundles.values())).cells[0].variant,
        "losses": losses,
        "difference": {"mean": of.mean, "low": of.low, "high": of.high},
        "bound": BOUND,
        "within": abs(of.mean) <= BOUND,
        "moved": moved,
        "tokens_per_second": rates,
    }


def told(found: Mapping[str, Any]) -> str:
    """One screen."""
    (a, reference), (b, other) = found["losses"].items()
    lines = [["seed", f"{a}, nats", f"{b}, nats", "difference"]]
    lines += [
        [str(seed), f"{loss:.4f}", f"{other[seed]:.4f}", f"{other[seed] - loss:+.4f}"]
        for seed, loss in reference.items()
    ]
    of = found["difference"]
    interval = "" if of["low"] is None else f" [{of['low']:+.4f}, {of['high']:+.4f}]"
    return "\n".join(
        [
            f"{found['variant']}, validation after {found['steps']:,} steps",
            aligned(lines),
            f"mean difference {of['mean']:+.4f}{interval}, bound {found['bound']}: "
            + ("within" if found["within"] else "beyond"),
            *(
                f"{precision}: {name} moved by up to {max(values):.4g}, at least {min(values):.4g}"
                for precision, learned in found["moved"].items()
                for name, values in learned.items()
            ),
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], own_process=True))
