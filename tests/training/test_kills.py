"""A run killed at random moments and resumed is the run that nobody killed, bit for bit."""

import json
import multiprocessing
import os
import pathlib
import random
import signal
from typing import Any

import numpy as np
import pytest

from training import victim

KILLS = int(os.environ.get("VELOCITY_LEDGER_KILLS", "20"))
# A fork server imports the libraries once, so that a life costs a second and not five.
LIVES = multiprocessing.get_context("forkserver")
LIVES.set_forkserver_preload(["training.victim"])


def live(folder: pathlib.Path, variant: str, plan: victim.Plan) -> dict[str, np.ndarray] | None:
    """One life of a run; None where it was killed."""
    out = folder.with_suffix(".npz")
    arguments = (folder, variant, plan, out)
    process: Any = LIVES.Process(target=victim.live, args=arguments, daemon=True)
    process.start()
    process.join(600)
    if process.exitcode == -signal.SIGKILL:
        return None
    assert process.exitcode == 0
    with np.load(out) as file:
        return dict(file)


def losses(folder: pathlib.Path) -> list[tuple[int, float]]:
    entries = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    return [(entry["step"], entry["train_loss"]) for entry in entries if "train_loss" in entry]


def draw(chance: random.Random) -> victim.Plan:
    """A moment to die: a file operation of some save, a time within a save, or a step."""
    kind = chance.choice(("file", "save", "step"))
    if kind == "file":
        return kind, chance.randint(1, 90)
    if kind == "save":
        return kind, chance.randint(0, 4) + chance.random() * 0.999
    return kind, chance.randint(0, 25)


@pytest.mark.parametrize("variant", ["tiny", pytest.param("ledger", marks=pytest.mark.slow)])
def test_killed_and_resumed_is_the_same_run(variant: str, tmp_path: pathlib.Path) -> None:
    chance = random.Random(f"{variant} {KILLS}")
    wanted = live(tmp_path / "whole", variant, ("never", 0))
    assert wanted is not None
    kills, rounds, kinds = 0, 0, set()
    while kills < KILLS:
        rounds += 1
        folder = tmp_path / f"round{rounds}"
        found = None
        while found is None:
            plan = draw(chance) if kills < KILLS else ("never", 0)
            found = live(folder, variant, plan)
            if found is None:
                kills += 1
                kinds.add(plan[0])
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            assert found[name].dtype == value.dtype
            assert found[name].tobytes() == value.tobytes(), f"{name} differs after {kills} kills"
        assert losses(folder) == losses(tmp_path / "whole")
        left = sorted(p.name for p in (folder / "checkpoint").iterdir())
        assert left == ["step_00000032", "step_00000036"]
    assert kills == KILLS and (KILLS < 20 or len(kinds) == 3)
