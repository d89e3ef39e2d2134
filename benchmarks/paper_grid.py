"""The article's grid of 12 runs as one bundle, on whatever is there, and how long it took.

    python -m benchmarks.paper_grid --text moby-shakespeare.txt

Four variants at three seeds, trained, validated, measured and saved by the library as
`velocity-ledger compare --preset paper` would. Seconds of each cell are kept in a file beside the
bundle, over as many sessions as it takes: `--resume` goes on where the last one stopped.

Published: 5,460 s for the 12 runs, on a Tesla P100. The aim, which is no result: 180 s on an H200.
"""

import argparse
import dataclasses as dc
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import machine, words
from benchmarks.entry import Parser, existing, guarded, positive
from benchmarks.grid_times import Session, Times, TurnClock
from velocity_ledger._files import try_folder
from velocity_ledger._table import aligned
from velocity_ledger.experiment._config import PRESETS, ExperimentConfig

PROGRAM = "paper_grid"
PUBLISHED = {"seconds": 5460.0, "device": "Tesla P100"}
AIM = {"seconds": 180.0, "device": "NVIDIA H200"}
SAVE_EVERY = 6000
"""Steps between saves where steps are quick. A save takes a good part of a second, and the preset
has 48 in a run; a signal loses nothing, since it is answered by a save."""


def parser() -> argparse.ArgumentParser:
    """The options."""
    preset = PRESETS["paper"]
    made = Parser(
        prog="python -m benchmarks.paper_grid",
        description="Train the article's grid of 12 runs into one bundle, and say how long it "
        f"took beside the {PUBLISHED['seconds']:,.0f} s published for a {PUBLISHED['device']}; "
        f"the aim is {AIM['seconds']:.0f} s on one {AIM['device']}.",
        epilog="It is meant for an accelerator: a CPU takes days.",
        allow_abbrev=False,
    )
    made.add_argument(
        "--text",
        type=existing,
        help="a text file, a gzip file or a folder of text files; by default "
        f"{preset.corpus}, for which the first run needs a network",
    )
    made.add_argument(
        "--out",
        type=Path,
        default=Path("build") / "paper-grid",
        help="the bundle's folder, default %(default)s; times go to a .json beside it",
    )
    made.add_argument("--resume", action="store_true", help="go on with the run in that folder")
    devices = ("auto", "cpu", "gpu", "tpu")
    made.add_argument("--device", choices=devices, default="auto", help="default %(default)s")
    made.add_argument(
        "--precision", choices=("fp32", "tf32", "bf16"), help="default bf16 on a GPU, else fp32"
    )
    made.add_argument("--variants", nargs="+", help=f"default {' '.join(preset.variants)}")
    made.add_argument(
        "--seeds", nargs="+", type=int, help=f"default {' '.join(map(str, preset.seeds))}"
    )
    steps = f"of each run's schedule, default {preset.training.steps}"
    made.add_argument("--steps", type=positive, help=steps)
    made.add_argument("--stop-after", type=positive, metavar="STEPS", help="end every cell there")
    made.add_argument(
        "--save-every",
        type=positive,
        metavar="STEPS",
        help=f"default {SAVE_EVERY}, on a CPU {preset.training.checkpoint_every}; "
        "validation and measurements stay those of the preset",
    )
    made.add_argument(
        "--stack-seeds",
        action=argparse.BooleanOptionalAction,
        help="train the seeds of a variant side by side; default where it is no CPU",
    )
    made.add_argument("--quick", action="store_true", help="smoke-sized: measures nothing")
    return made


def main(arguments: Sequence[str], own_process: bool = False) -> int:
    """Run the command and return its exit status.

    0: every cell is finished, or was stopped where asked; 1: a cell diverged; 2: a mistake in the
    words, told in one line on standard error; 130 and 143: stopped by SIGINT and SIGTERM, and
    saved.
    """
    begin = time.perf_counter()
    return guarded(PROGRAM, lambda: _run(arguments, begin, own_process))


def _run(arguments: Sequence[str], begin: float, own_process: bool) -> int:
    options = parser().parse_args(arguments)
    out: Path = options.out
    if own_process:
        _settle(options.device)
    from velocity_ledger.cli._environment import prepare

    prepare(options.device)
    try_folder(out.parent)
    import jax

    from velocity_ledger.cli.verbs._settings import need_device
    from velocity_ledger.experiment import open_bundle, run_experiment

    need_device(options.device)
    recorded = open_bundle(out).config if options.resume else None
    backend = jax.default_backend()
    config = configured(options, backend, recorded)
    stacked = options.stack_seeds
    if stacked is None:
        # Small programs leave an accelerator waiting: three seeds are hardly more than one.
        stacked = backend != "cpu"
    about = {
        "run": None,
        "machine": machine.described(),
        "published": PUBLISHED,
        "aim": AIM,
    }
    device = jax.devices()[0].device_kind
    session = Session(about["machine"]["date"], device, stacked)
    times = Times(file_of(out), session, begin, about)

    def shown(name: str) -> TurnClock:
        from velocity_ledger.training import RichProgress

        if about["run"] is None:
            # The bundle is begun: what lies at that path is its own, or nobody's.
            begun()
            print(_announced(config, options.stop_after, device, stacked), file=sys.stderr)
        return times.turn(RichProgress(name))

    def begun() -> None:
        about["run"] = open_bundle(out).manifest["created"]
        if options.resume:
            times.take_up()

    with _listening(times):
        status = run_experiment(
            config,
            out,
            resume=options.resume,
            stop_after=options.stop_after,
            stack_seeds=stacked,
            command=["python", "-m", "benchmarks.paper_grid", *arguments],
            device=options.device,
            progress=shown,
            trackers=lambda cell, folder: (times.cell(cell.name),),
        )
    times.end_of_turn()
    bundle = open_bundle(out)
    if about["run"] is None:  # No cell was left to be run.
        begun()
    found = figures(bundle, times.sessions)
    times.write(found)
    print(told(found))
    print(f"\nbundle: {out}\ntimes: {times.path}")
    if status >= 128:
        again = [*arguments, *([] if options.resume else ["--resume"])]
        words_again = shlex.join(["python", "-m", "benchmarks.paper_grid", *again])
        print(f"{PROGRAM}: stopped, and saved; to go on: {words_again}", file=sys.stderr)
    return status


def _announced(config: ExperimentConfig, stop: int | None, device: str, stacked: bool) -> str:
    cells = len(config.variants) * len(config.seeds)
    return (
        f"{cells} cells of {stop or config.training.steps:,} steps in {config.model.precision} on "
        f"{device}{', seeds side by side' if stacked else ''}"
    )


def file_of(out: Path) -> Path:
    """Where the times of a bundle are kept."""
    whole = out.absolute()  # `.` has no name
    return whole.parent / f"{whole.name}.json"


def configured(
    options: argparse.Namespace, backend: str, recorded: ExperimentConfig | None = None
) -> ExperimentConfig:
    """The preset with what was asked for, or the recorded run with it, which then must agree."""
    preset = PRESETS["paper"]
    if recorded is None:
        size = PRESETS["smoke"] if options.quick else preset
        precision = "bf16" if backend == "gpu" else "fp32"
        save_every = SAVE_EVERY
        if backend == "cpu" or options.quick:
            save_every = size.training.checkpoint_every
        config = dc.replace(
            size,
            variants=preset.variants,
            seeds=preset.seeds,
            model=dc.replace(size.model, precision=precision),
            training=dc.replace(size.training, checkpoint_every=save_every),
        )
    else:
        config = recorded
    asked = {"checkpoint_every": options.save_every, "steps": options.steps}
    model = {"precision": options.precision}
    return dc.replace(
        config,
        model=dc.replace(config.model, **_given(model)),
        training=dc.replace(config.training, **_given(asked)),
        **_given(
            {
                "variants": options.variants and tuple(options.variants),
                "seeds": options.seeds and tuple(options.seeds),
                "corpus": options.text and str(options.text),
            }
        ),
    )


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def figures(bundle: Any, sessions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the file holds beside the sessions, from these and the bundle alone."""
    config: ExperimentConfig = bundle.config
    cells = {cell.name: _cell(cell, sessions) for cell in bundle.cells}
    window = config.training.batch * config.model.context
    tokens = window * sum(cell["steps"] for cell in cells.values())
    seconds = sum(session["seconds"] for session in sessions)
    timed = all(cell["seconds"] is not None for cell in cells.values() if cell["steps"])
    reason = no_ratio(config, cells)
    if reason is None and not timed:
        reason = "the times of earlier sessions are lost"
    spent = [turn for session in sessions for turn in session["turns"]]
    return {
        "device": sorted({session["device"] for session in sessions}),
        "precision": config.model.precision,
        "stacked": sorted({session["stacked"] for session in sessions}),
        "corpus": bundle.manifest["corpus"].get("name"),
        "steps": config.training.steps,
        "seconds": seconds,
        "start_up_s": seconds - sum(one["seconds"] for one in spent),
        "xla_s": sum(one["xla_s"] for one in spent),
        "programs": sum(one["programs"] for one in spent),
        "programs_from_cache": sum(one["programs_from_cache"] for one in spent),
        "tokens": tokens,
        "tokens_per_second": tokens / seconds if timed else None,
        "times_as_fast_as_published": None if reason else PUBLISHED["seconds"] / seconds,
        "no_ratio": reason,
        "cells": cells,
    }


def _cell(cell: Any, sessions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One cell over all sessions: what the library timed itself, and what is left."""
    parts = [turn for s in sessions for turn in s["turns"] if cell.name in turn["cells"]]
    found: dict[str, Any] = {
        "state": cell.state,
        "steps": cell.step,
        "best_val": cell.best_val,
        "tokens_per_second": cell.tokens_per_second,
        "stepping_s": cell.train_s,
        "first_step_s": cell.compile_s,
    }
    names = ("seconds", "validating_s", "measuring_s", "xla_s")
    found |= {name: _shared(parts, name) if parts else None for name in names}
    found["saving_s"] = found["ending_s"] = None
    if parts and cell.train_s is not None:
        within = _shared(parts, "training_s")
        known = (cell.train_s, cell.compile_s, found["validating_s"], found["measuring_s"])
        # A killed session has steps that a later one did again: they are in neither's sum.
        found["saving_s"] = max(0.0, within - sum(known))
        found["ending_s"] = found["seconds"] - within
    return found


def _shared(turns: Sequence[Mapping[str, Any]], name: str) -> float:
    """The part of one cell: cells of one turn have equal ones."""
    return sum(turn[name] / len(turn["cells"]) for turn in turns)


def no_ratio(config: ExperimentConfig, cells: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Why this run cannot be held against the published one; None where it can."""
    preset = PRESETS["paper"]
    # What changes speed and memory alone is free, and the alphabet is the text's.
    training = dc.replace(
        config.training,
        checkpoint_every=preset.training.checkpoint_every,
        microbatch=preset.training.microbatch,
    )
    model = dc.replace(
        config.model,
        precision=preset.model.precision,
        vocabulary=preset.model.vocabulary,
        scan=preset.model.scan,
    )
    if (config.variants, config.seeds) != (preset.variants, preset.seeds):
        return "another grid than the published one"
    if (training, model) != (preset.training, preset.model):
        return "other sizes or another schedule than the published ones"
    left = sum(cell["state"] != "finished" for cell in cells.values())
    return f"{left} of {len(cells)} cells are not finished" if left else None


def told(found: Mapping[str, Any]) -> str:
    """One screen."""
    head = ("cell", "state", "steps", "seconds", *COLUMNS, "tokens/s", "best val")
    cells = found["cells"]
    lines = [
        [
            name,
            cell["state"],
            words.count(cell["steps"]),
            words.seconds(cell["seconds"]),
            *(words.seconds(cell[figure]) for figure in COLUMNS.values()),
            words.count(cell["tokens_per_second"]),
            words.NONE if cell["best_val"] is None else f"{cell['best_val']:.4f}",
        ]
        for name, cell in cells.items()
    ]
    every = ("seconds", *COLUMNS.values())
    sums = [sum(cell[figure] or 0.0 for cell in cells.values()) for figure in every]
    steps = words.count(sum(cell["steps"] for cell in cells.values()))
    lines.append(["all", "", steps, *map(words.seconds, sums), "", ""])
    rate = words.count(found["tokens_per_second"])
    ratio = found["times_as_fast_as_published"]
    published = f"{PUBLISHED['seconds']:,.0f} s published for a {PUBLISHED['device']}"
    return "\n".join(
        [
            aligned([list(head), *lines]),
            f"\n{words.seconds(found['seconds'])} seconds in all, {rate} tokens/s; "
            f"{', '.join(found['device'])}, {found['precision']}, {found['corpus']}",
            f"{words.seconds(found['start_up_s'])} seconds outside of cells; XLA made "
            f"{found['programs']} programs in {words.seconds(found['xla_s'])} seconds, "
            f"{found['programs_from_cache']} of them were compiled before",
            f"{ratio:.2f} times as fast as the {published}"
            if ratio
            else f"not held against the {published}: {found['no_ratio']}",
        ]
    )


COLUMNS = {
    "stepping": "stepping_s",
    "first step": "first_step_s",
    "validating": "validating_s",
    "measuring": "measuring_s",
    "saving": "saving_s",
    "ending": "ending_s",
}
"""Where a cell's seconds go. The first step compiles; the end writes a sample and closes files;
what is left within `train` is mostly saving."""


def _listening(times: Times) -> Any:
    """Let JAX tell what it compiles, as long as the block lasts."""
    import contextlib

    from jax import monitoring

    stack = contextlib.ExitStack()
    monitoring.register_event_duration_secs_listener(times.compiled)
    stack.callback(monitoring.unregister_event_duration_listener, times.compiled)
    monitoring.register_event_listener(times.found)
    stack.callback(monitoring.unregister_event_listener, times.found)
    return stack


def _settle(device: str) -> None:
    """What `velocity-ledger` asks of the machine before it trains."""
    from velocity_ledger.cli._environment import computes_on_cpu
    from velocity_ledger.machine import compile_cache_environment, start_anew

    if computes_on_cpu(device):
        start_anew()
    os.environ.update(compile_cache_environment())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], own_process=True))
