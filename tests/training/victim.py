"""A run in a process of its own, which may die at a chosen moment."""

import dataclasses as dc
import os
import pathlib
import signal
import threading
import time
from typing import Any, Literal

import jax
import numpy as np

from training.tiny import CONFIG, Tiny, make_data
from velocity_ledger.training import Checkpoints, JsonlTracker, Run, train

CONFIG = dc.replace(CONFIG, steps=36, val_every=5, checkpoint_every=4)

Plan = tuple[Literal["never", "file", "save", "step"], float]


def build(variant: str) -> tuple[Any, Any]:
    """The model and its data: the tiny stand-in, or a GPT of one layer."""
    if variant == "tiny":
        return Tiny(), make_data()
    from velocity_ledger.integrators import parse
    from velocity_ledger.model import GPT, ModelConfig

    shape = ModelConfig(layers=1, width=8, heads=2, hidden=8, context=8, dropout=0.3, vocabulary=7)
    return GPT(shape, parse(variant), rngs=0), make_data()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(plan: Plan) -> None:
    """Arrange for this process to die: at the n-th sync or rename, or so long into a save."""
    kind, when = plan
    if kind == "file":
        left = [int(when)]

        def counted(call: Any) -> Any:
            def wrapped(*arguments: Any, **keywords: Any) -> Any:
                left[0] -= 1
                if left[0] == 0:
                    die()
                return call(*arguments, **keywords)

            return wrapped

        os.fsync, os.rename = counted(os.fsync), counted(os.rename)
    if kind == "save":
        save, saves = Checkpoints.save, [int(when)]

        def struck(self: Any, *arguments: Any) -> None:
            saves[0] -= 1
            if saves[0] < 0:
                threading.Timer(when % 1 / 10, die).start()
            save(self, *arguments)

        setattr(Checkpoints, "save", struck)  # noqa: B010


def live(folder: pathlib.Path, variant: str, plan: Plan, out: pathlib.Path) -> None:
    """Go on with the run in `folder`, from its newest checkpoint, and write what it found."""
    arm(plan)
    model, data = build(variant)
    asked = [0]

    def ask() -> None:
        asked[0] += 1
        if plan[0] == "step" and asked[0] > plan[1]:
            die()
        time.sleep(0.001)

    log = JsonlTracker(folder / "log.jsonl")
    result = train(
        model, data, CONFIG, seed=3, folder=folder, resume=True, should_stop=ask, trackers=[log]
    )
    np.savez(out, allow_pickle=False, **numbers(result))


def numbers(result: Run) -> dict[str, np.ndarray]:
    """All that a run found, but its times, as arrays by name."""
    found = {
        "best": np.array([result.best_step, result.best_val], np.float64),
        "step": np.array(result.step),
    }
    for name, tree in (("best", result.best), ("last", result.last)):
        found |= {f"{name}{i}": np.asarray(x) for i, x in enumerate(jax.tree.leaves(tree))}
    return found | result.history.arrays()
