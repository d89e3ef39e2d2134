"""A run killed at random moments and resumed is the run that nobody killed, bit for bit."""

import json
import multiprocessing
import pathlib
import random
import signal
from typing import Any

import numpy as np
import pytest

from training import victim

KINDS = ("file", "save", "step")
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


def draw(chance: random.Random, kills: int) -> victim.Plan:
    """A moment to die: a file operation of some save, a time within a save, or a step, in turn."""
    kind = KINDS[kills % len(KINDS)]
    if kind == "file":
        return kind, chance.randint(1, 90)
    if kind == "save":
        return kind, chance.randint(0, 4) + chance.random() * 0.999
    return kind, chance.randint(0, 25)


# A life takes seconds, and there are more lives than kills: many only where time is no matter.
@pytest.mark.parametrize(
    ("variant", "wanted_kills"),
    [
        ("tiny", 4),
        pytest.param("tiny", 20, marks=pytest.mark.slow),
        pytest.param("ledger", 20, marks=pytest.mark.slow),
    ],
)
def test_killed_and_resumed_is_the_same_run(
    variant: str, wanted_kills: int, tmp_path: pathlib.Path
) -> None:
    chance = random.Random(f"{variant} {wanted_kills}")
    wanted = live(tmp_path / "whole", variant, ("never", 0))
    assert wanted is not None
    kills, rounds, kinds = 0, 0, set()
    while kills < wanted_kills:
        rounds += 1
        folder = tmp_path / f"round{rounds}"
        found = None
        while found is None:
            plan = draw(chance, kills) if kills < wanted_kills else ("never", 0)
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
    assert kills == wanted_kills and kinds == set(KINDS)
