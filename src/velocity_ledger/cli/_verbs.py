"""What each verb calls; importing this module is cheap, calling a verb imports JAX."""

import hashlib
import importlib.util
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from velocity_ledger.cli import _interrupts
from velocity_ledger.cli._options import Compare, Describe, Options, Render, TrackerName, Train
from velocity_ledger.errors import UserError

_PACKAGES = {"tensorboard": "tensorboardX", "wandb": "wandb"}


def call(options: Options, command: Sequence[str]) -> int:
    """Do what the options ask for and return the exit status; `command` is what was typed."""
    match options:
        case Compare() | Train():
            return _train(options, command)
        case Render():
            return _render(options)
        case Describe():
            return _describe(options)


def _train(options: Compare | Train, command: Sequence[str]) -> int:
    config, out = options.experiment(), options.folder()
    _need_packages(options.track)
    _need_device(options.device)
    from velocity_ledger.experiment import open_bundle, run_experiment, table

    status = run_experiment(
        config,
        out,
        resume=options.resume,
        stop_after=options.stop_after,
        command=command,
        trackers=_trackers(options.track, out),
    )
    if status >= 128:
        words = shlex.join([*command, *([] if options.resume else ["--resume"])])
        print(f"stopped, and saved; to go on: {words}", file=sys.stderr)
        return status
    print(table(open_bundle(out)))
    print(f"\nbundle: {out}")
    return status


def _render(options: Render) -> int:
    from velocity_ledger.report import render

    # Drawing leaves no half a file behind.
    with _interrupts.raised():
        written = render(options.run, options.out, options.formats)
    for path in written:
        print(path)
    return 0


def _describe(options: Describe) -> int:
    _need_device(options.device)
    from velocity_ledger.experiment import describe

    rows = describe(options.experiment())
    print(json.dumps(rows, indent=2, allow_nan=False) if options.json else _described(rows))
    return 0


def _described(rows: Sequence[dict[str, Any]]) -> str:
    first = rows[0]
    shape = (
        "{layers} layers of width {width}, {heads} heads, {hidden} hidden units, context "
        "{context}, {vocabulary} characters; {steps:,} steps of {batch} windows"
    ).format(**first)
    lines = [("variant", "parameters", "own", "FLOPs a token", "FLOPs a step", "memory")]
    for row in rows:
        lines.append(
            (
                row["variant"],
                f"{row['parameters']:,}",
                f"{row['integrator_parameters']:,}",
                f"{row['flops_per_token_forward']:.3g}",
                f"{row['flops_per_step']:.3g}",
                f"{row['memory_bytes'] / 2**20:,.0f} MiB",
            )
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    about = [f"{row['variant']}: {row['description']}" for row in rows]
    notes = [
        "own: parameters the integrator itself learns. FLOPs: a token forward, a step forward and",
        "back. Memory: an estimate for training, see `--json` for its formula.",
    ]
    return "\n".join([shape, "", *table, "", *about, "", *notes])


def _need_packages(names: Sequence[TrackerName]) -> None:
    for name in names:
        if importlib.util.find_spec(_PACKAGES[name]) is None:
            raise UserError(
                f"--track {name} needs a package: pip install 'velocity-ledger[{name}]'"
            )


def _need_device(device: str) -> None:
    """Ask JAX for its devices now, since later it would fail in the middle of something."""
    import jax

    try:
        jax.devices()
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"JAX finds no device for --device {device} ({reason}): choose another, or install "
            "the JAX that is made for it"
        ) from error


def _trackers(names: Sequence[TrackerName], out: Path) -> Callable[[Any, Path], Sequence[Any]]:
    """A maker of a cell's trackers from its record and folder."""

    def make(cell: Any, folder: Path) -> Sequence[Any]:
        from velocity_ledger.experiment import open_bundle
        from velocity_ledger.training import TensorBoardTracker, WandbTracker

        found = []
        for name in dict.fromkeys(names):
            if name == "tensorboard":
                found.append(TensorBoardTracker(folder / "tensorboard"))
            else:
                # A resumed cell goes on in its own record there, another run's never does.
                begun = open_bundle(out).manifest["created"]
                key = hashlib.sha256(f"{begun} {cell.name}".encode()).hexdigest()[:16]
                found.append(
                    WandbTracker(project="velocity-ledger", group=out.name, name=cell.name, id=key)
                )
        return found

    return make
