"""A small bundle with made-up numbers: no model is trained for what only reads."""

import dataclasses as dc
import functools
import pathlib
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from velocity_ledger.experiment._cells import NAME, cell_dataset, cell_folder, write_cell
from velocity_ledger.experiment._config import PRESETS, ExperimentConfig
from velocity_ledger.experiment._manifest import (
    FORMAT,
    SCHEMA_VERSION,
    CellRecord,
    slugs,
    write_manifest,
)
from velocity_ledger.telemetry import path_dataset

WINDOWS, TIME = 2, 3


def measurement(sub_updates: int, scale: float, *, velocity: bool) -> dict[str, np.ndarray]:
    """Numbers in the shapes of `measure`, reproducible and different in every entry."""
    rng = np.random.default_rng([sub_updates, int(1000 * scale)])
    deep = (sub_updates, WINDOWS * TIME)
    step = (scale * (1 + rng.random(deep))).astype(np.float32)
    turn = (90 * rng.random(deep)).astype(np.float32)
    turn[0] = np.nan
    path = step.sum(0)
    found = {
        "step_length": step,
        "raw_step": step,
        "increment": step,
        "stream_norm": 1 + np.cumsum(step, 0) / 2,
        "turning_angle": turn,
        "angular_step": turn / 2,
        "initial_norm": np.ones(deep[1], np.float32),
        "path_length": path,
        "chord": path / 2,
        "straightness": np.full(deep[1], 0.5, np.float32),
        "path_over_norm": path / (1 + path / 2),
        "angular_path": np.nansum(turn, 0),
        "zero_steps": np.zeros(deep[1], np.int32),
    }
    if velocity:
        found["velocity_norm"] = step
    return found


@functools.cache
def _cell_file(variant: str, seed: int, step: int, sub_updates: int, best_val: float) -> bytes:
    """The bytes of a cell's file: what many bundles hold is written once."""
    data = cell_dataset(
        train_loss=np.linspace(3, 2, step),
        val_step=[0, 10, 20][: 1 + step // 10],
        val_loss=[3.0, 2.5, best_val][: 1 + step // 10],
        paths=path_dataset(
            {
                s: measurement(sub_updates, 1 + s + seed, velocity=variant != "plain")
                for s in (0, 2, 10, 20)
                if s <= step
            },
            windows=WINDOWS,
        ),
        nulls={
            s: dict(path_length=s + 0.5, turning_angle=30.0, straightness=0.25,
                    path_over_norm=0.125)
            for s in (0, 2, 10, 20)
        },
        attributes={"variant": variant, "seed": seed},
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        write_cell(pathlib.Path(folder) / NAME, data)
        return (pathlib.Path(folder) / NAME).read_bytes()


def write_synthetic(
    folder: pathlib.Path,
    *,
    config: ExperimentConfig | None = None,
    states: Callable[[str, int], str] = lambda variant, seed: "finished",
    sub_updates: Callable[[str], int] = lambda variant: 4,
    best_val: Callable[[str, int], float] = lambda variant, seed: 2.0 + len(variant) / 100 + seed,
    best_step: int = 20,
) -> dict[str, Any]:
    """Write a bundle whose cells are in the given states; a pending cell has no files."""
    config = config or dc.replace(
        PRESETS["smoke"], variants=("plain", "ledger"), seeds=(0, 1), corpus="text.txt"
    )
    folder.mkdir(parents=True, exist_ok=True)
    names = dict(zip(config.variants, slugs(config.variants), strict=True))
    cells = []
    for seed in config.seeds:
        for variant in config.variants:
            state = states(variant, seed)
            cell = CellRecord(variant=variant, slug=names[variant], seed=seed, state=state)
            if state != "pending":
                step, best = 20 if state == "finished" else 10, best_val(variant, seed)
                cell = dc.replace(
                    cell, reason=state, step=step, best_val=best, best_step=min(best_step, step),
                    compile_s=1.0, train_s=2.0, tokens_per_second=1000.0,
                )  # fmt: skip
                path = cell_folder(folder, cell.slug, seed)
                path.mkdir(parents=True)
                content = _cell_file(variant, seed, step, sub_updates(variant), best)
                (path / NAME).write_bytes(content)
            cells.append(cell)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "created": "2026-01-01T00:00:00+00:00",
        "configuration": config,
        "corpus": {"name": "text", "kind": "file", "characters": 1000},
        "vocabulary": {"characters": "abc", "size": 3, "sha256": "0"},
        "variants": [
            {"text": v, "slug": names[v], "parameters": 1000, "integrator_parameters": 0}
            for v in config.variants
        ],
        "cells": cells,
    }
    write_manifest(folder, manifest)
    return manifest


@pytest.fixture
def synthetic(tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    """Write a synthetic bundle and return its folder."""

    def build(**given: Any) -> pathlib.Path:
        folder = tmp_path / "run"
        write_synthetic(folder, **given)
        return folder

    return build
