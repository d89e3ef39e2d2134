"""Files as the article's author may have left them, with the numbers that were published."""

import json
import pathlib
from typing import Any

import numpy as np

VARIANTS = ("plain", "ledger", "ngpt_lite", "ngpt_ledger")
LEDGERS = ("ledger", "ngpt_ledger")
SPHERES = ("ngpt_lite", "ngpt_ledger")
BEST = {
    "plain": (1.42591, 1.43687, 1.43610),
    "ledger": (1.43135, 1.43908, 1.43504),
    "ngpt_lite": (1.41931, 1.42068, 1.41936),
    "ngpt_ledger": (1.45629, 1.45200, 1.45858),
}
BEST_STEPS = {
    "plain": (12000, 12000, 12000),
    "ledger": (12000, 11750, 12000),
    "ngpt_lite": (11750, 12000, 11750),
    "ngpt_ledger": (12000, 12000, 11750),
}
PATH = {"plain": 127.8, "ledger": 48.2, "ngpt_lite": 57.8, "ngpt_ledger": 31.6}
TURN = {"plain": 74.9, "ledger": 28.8, "ngpt_lite": 97.8, "ngpt_ledger": 47.3}
NORM = {"plain": 71.3, "ledger": 40.6, "ngpt_lite": 13.86, "ngpt_ledger": 13.86}
CHECKPOINTS = (0, 1200, 6000, 12000)
N = 12
CONFIG: dict[str, Any] = {
    "L": 6, "D": 192, "H": 4, "FF": 768, "T": 128, "BATCH": 64, "STEPS": 12000, "LR": 1e-3,
    "LR_MIN": 1e-4, "WARMUP": 200, "WD": 0.01, "DROP": 0.15, "MU": 0.9, "H_STEP": 1.0,
    "VAL_LOG": 250, "seeds": [0, 1, 2], "vocab": 80, "n_chars": 5359444, "device": "Tesla P100",
}  # fmt: skip
SAMPLE = "ROMEO:\nO, speak again.\n"


def arrays(
    vnorm: tuple[str, ...] = LEDGERS, rawstep: tuple[str, ...] = SPHERES
) -> dict[str, np.ndarray]:
    """All arrays of the npz; `vnorm` and `rawstep` say which variants have these."""
    found: dict[str, np.ndarray] = {"ckpt_steps": np.asarray(CHECKPOINTS)}
    for variant in VARIANTS:
        for seed in range(3):
            name = f"{variant}_s{seed}"
            rng = np.random.default_rng([len(variant), seed])
            found[f"{name}/train_steps"] = np.arange(50, 12001, 50)
            found[f"{name}/train_loss"] = 1.3 + rng.random(240)
            found[f"{name}/val_steps"] = np.arange(250, 12001, 250)
            loss = 1.5 + np.exp(-np.arange(48) / 9.0)
            loss[BEST_STEPS[variant][seed] // 250 - 1] = BEST[variant][seed]
            found[f"{name}/val_loss"] = loss
            for i, grown in enumerate((0.4, 0.7, 0.9, 1.0)):
                ck = f"{name}/ck{i}"
                weights = rng.uniform(0.5, 1.5, N)
                found[f"{ck}_seglen"] = grown * PATH[variant] * weights / weights.sum()
                turn = rng.uniform(-5.0, 5.0, N - 1)
                found[f"{ck}_turn"] = TURN[variant] + turn - turn.mean()
                found[f"{ck}_xnorm"] = np.linspace(2**0.5, grown * NORM[variant], N + 1)
                if variant in vnorm:
                    found[f"{ck}_vnorm"] = found[f"{ck}_seglen"].copy()
                if variant in rawstep:
                    found[f"{ck}_rawstep"] = found[f"{ck}_seglen"] * 1.1
    return found


def record() -> dict[str, Any]:
    """The JSON."""
    runs = {
        f"{variant}_s{seed}": {
            "best_val_loss": BEST[variant][seed],
            "best_step": BEST_STEPS[variant][seed],
            "best_bpc": BEST[variant][seed] / np.log(2),
            "blowup_ratio": 1.02,
            "params": 2722560 if variant.startswith("ngpt") else 2724864,
            "wall_s": 450.0 + seed,
            "sample": SAMPLE,
        }
        for variant in VARIANTS
        for seed in range(3)
    }
    comparison = {v: {"best_val_mean": float(np.mean(BEST[v]))} for v in VARIANTS}
    return {"config": dict(CONFIG), "comparison": comparison, "runs": runs}


def write_npz(path: pathlib.Path, content: dict[str, np.ndarray]) -> pathlib.Path:
    """Write arrays, whatever the name of the file."""
    with open(path, "wb") as handle:
        np.savez(handle, **content)  # pyright: ignore[reportArgumentType]
    return path


def write_json(path: pathlib.Path, content: Any) -> pathlib.Path:
    """Write JSON as Python does by default, NaN and all."""
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
