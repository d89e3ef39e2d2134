"""Train a trained cell on as another integrator."""

import contextlib
import dataclasses as dc
import io
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import tyro

from velocity_ledger.cli._words import value_of
from velocity_ledger.cli.verbs._settings import Computing, Flag, need_device
from velocity_ledger.cli.verbs._tracking import TrackerName, need_packages, trackers_of
from velocity_ledger.training._config import TrainingConfig


@dc.dataclass(frozen=True, kw_only=True)
class Convert(Computing):
    """Train a trained cell on as another integrator, its numbers moving there slowly.

    From the cell's best weights on the run's own text, into a run of one cell. At the start the
    new integrator is the old one: a plain block is a ledger with mu = 0. Over `--over` steps its
    numbers move to those of `--to`; best validation counts from there. `--over 0` changes at once.
    The optimizer begins anew, with its warm-up; the training's defaults are those of CELL.

    For example:
        velocity-ledger convert runs/quick plain/0 --to "ledger(mu=0.9)" --over 200
        velocity-ledger convert runs/quick-ledger-0 ledger/0 --to plain --over 200
    """

    trains: ClassVar[bool] = True

    run: Annotated[Path, tyro.conf.Positional]
    """The run's folder."""
    cell: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="CELL")]
    """Variant, a slash, seed, as in `plain/0`."""
    to: str
    """Text form of the integrator that it becomes: `ledger(mu=.9)`, `plain`."""
    over: int | None = None
    """Steps until its numbers have arrived; by default half of the training, 0 for at once."""
    shape: Literal["linear", "cosine"] = "linear"
    """How they move: evenly, or slowly at both ends."""
    begin: str | None = None
    """Integrator to begin with, of the structure of `--to`; by default the cell's own in it."""
    seed: int | None = None
    """Draws windows and dropout; by default the cell's own."""
    training: TrainingConfig = TrainingConfig()
    sample: int = 300
    """Characters that it writes with its best weights at its end; 0 for none."""
    out: Path | None = None
    """The new run's folder; by default named after RUN, the integrator and the seed."""
    resume: Flag = False
    """Go on with the conversion in that folder."""
    stop_after: int | None = None
    """End after this many steps of the unchanged schedule."""
    track: tuple[TrackerName, ...] = ()
    """Also log to TensorBoard or Weights & Biases, where their package is installed."""

    @classmethod
    def defaults(cls, words: Sequence[str]) -> "Convert":
        options = cls(run=Path(), cell="", to="", **_recorded(words))
        for name in ("run", "cell", "to"):
            # tyro's word for an option that must be given, whatever its type.
            object.__setattr__(options, name, tyro.MISSING)
        return options

    def folder(self) -> Path:
        """Where the new run goes."""
        name = re.sub(r"[^A-Za-z0-9.=]+", "-", f"{self.to}-{self.cell.rpartition('/')[2]}")
        return self.out or self.run.parent / f"{self.run.name}-{name.strip('-.')}"

    def call(self, command: Sequence[str]) -> int:
        out = self.folder()
        need_packages(self.track)
        need_device(self.device)
        from velocity_ledger.experiment import convert_cell, converted, open_bundle, table

        status = convert_cell(
            self.run,
            self.cell,
            self.to,
            out,
            training=self.training,
            over=self.training.steps // 2 if self.over is None else self.over,
            shape=self.shape,
            begin=self.begin,
            seed=self.seed,
            sample=self.sample,
            resume=self.resume,
            stop_after=self.stop_after,
            command=command,
            device=self.device,
            trackers=trackers_of(self.track, out),
        )
        if status >= 128:
            words = shlex.join([*command, *([] if self.resume else ["--resume"])])
            print(f"stopped, and saved; to go on: {words}", file=sys.stderr)
            return status
        bundle = open_bundle(out)
        print(table(bundle))
        print(f"\n{converted(bundle)}\nbundle: {out}")
        return status


def _recorded(words: Sequence[str]) -> dict[str, Any]:
    """What the run to convert, or with `--resume` the conversion in `--out`, says of options."""
    from velocity_ledger.experiment._continued import continued, trained, variant_of
    from velocity_ledger.experiment._manifest import (
        NAME,
        config_from_dict,
        is_imported,
        read_manifest,
        refuse_imported,
    )

    out = value_of("--out", words)
    if "--resume" in words and out is not None and os.path.isfile(Path(out) / NAME):
        manifest = read_manifest(Path(out))
        refuse_imported(manifest, Path(out), "cannot go on: choose another --out, without --resume")
        schedule = manifest.get("converted_from", {}).get("schedule", {})
        config = config_from_dict(manifest["configuration"])
        return {
            "training": config.training,
            "sample": config.sample,
            "seed": config.seeds[0],
            "over": schedule.get("steps"),
            "shape": schedule.get("shape", "linear"),
            "begin": schedule.get("start"),
        }
    run, cell = _source(words)
    if run is None or not os.path.isfile(run / NAME):
        return {}
    manifest = read_manifest(run)
    if is_imported(manifest):
        return {}
    variant = variant_of(manifest, cell)
    config = (
        config_from_dict(manifest["configuration"])
        if variant is None
        else trained(manifest, variant)
    )
    return {"training": continued(config.training)}


def _source(words: Sequence[str]) -> tuple[Path | None, str]:
    """RUN and CELL, also where they follow options."""
    first = list(words[:2])
    if len(first) == 2 and not any(word.startswith("-") for word in first):
        return Path(first[0]), first[1]
    if {"-h", "--help"} & set(words):
        return None, ""
    quiet = io.StringIO()
    try:
        with contextlib.redirect_stderr(quiet), contextlib.redirect_stdout(quiet):
            found = tyro.cli(Convert, args=words)
    except SystemExit:
        return None, ""
    return found.run, found.cell
