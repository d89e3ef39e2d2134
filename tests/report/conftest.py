"""Bundles without a training run: made-up curves and paths in the real layout."""

import functools
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from velocity_ledger.experiment import _json
from velocity_ledger.experiment._cells import cell_dataset, cell_folder, write_cell
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._manifest import FORMAT, SCHEMA_VERSION, slugs, write_manifest
from velocity_ledger.model._config import ModelConfig
from velocity_ledger.telemetry import path_dataset

FOUR = ("plain", "ledger", "ngpt-lite", "ngpt-ledger")


def make_bundle(
    folder: Path,
    variants: Sequence[str] = FOUR,
    seeds: Sequence[int] = (0, 1, 2),
    *,
    validations: int = 12,
    checkpoints: Sequence[int] = (0, 60, 600),
    layers: int = 6,
    diverged: bool = False,
    states: Mapping[tuple[str, int], str] = {},
    validated: Mapping[int, Sequence[int]] = {},
    measured: Mapping[tuple[str, int], Sequence[int]] = {},
    corpus: Mapping[str, object] = {},
) -> Path:
    """Write a bundle whose numbers look like a run's.

    `states` and `measured` (the checkpoints) are those of single cells, `validated` (the steps)
    those of a seed.
    """
    config = ExperimentConfig(
        model=ModelConfig(layers=layers), variants=tuple(variants), seeds=tuple(seeds)
    )
    cells = []
    for index, (variant, slug) in enumerate(zip(variants, slugs(variants), strict=True)):
        for seed in seeds:
            cell = (variant, seed)
            state = "finished" if validations else "running"
            if diverged and index == 1:
                state = "diverged"
            steps = validated.get(seed, 50 * np.arange(1, validations + 1))
            looks = measured.get(cell, checkpoints)
            record = {"variant": variant, "slug": slug, "seed": seed}
            record["state"] = states.get(cell, state)
            record["step"] = max((1 if len(looks) else 0, *looks, *map(int, steps)))
            cells.append(record)
            file = cell_folder(folder, slug, seed) / "data.nc"
            file.parent.mkdir(parents=True)
            step = np.asarray(steps, np.int64)
            content, loss = _cell_file(
                index, seed, tuple(step.tolist()), tuple(looks), 2 * layers, diverged
            )
            file.write_bytes(content)
            if np.isfinite(loss).any():
                best = int(np.nanargmin(loss))
                record["best_val"] = float(loss[best])
                record["best_step"] = int(step[best])
    folder.mkdir(exist_ok=True)
    manifest = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "configuration": _json.plain(config),
        "corpus": dict(corpus),
        "vocabulary": {},
        "variants": [{"text": text} for text in variants],
        "cells": cells,
    }
    write_manifest(folder, manifest)
    return folder


@functools.cache
def _cell_file(index, seed, step, checkpoints, sub_updates, diverged):
    """The bytes of a cell's file and its losses: what many bundles hold is written once."""
    generator = np.random.default_rng((index, seed))
    data = _cell(generator, index, np.array(step, np.int64), checkpoints, sub_updates, diverged)
    with tempfile.TemporaryDirectory() as folder:
        write_cell(Path(folder) / "data.nc", data)
        return (Path(folder) / "data.nc").read_bytes(), data["val_loss"].values


def _cell(generator, index, step, checkpoints, sub_updates, diverged):
    loss = 1.4 + 0.01 * index + 2.0 * np.exp(-step / 120) + 0.005 * generator.normal(size=step.size)
    if diverged and index == 1:
        loss[step.size // 2 :] = np.nan
    tokens, scale = 16, (10.0, 4.0, 5.0, 2.7)[index % 4]
    measurements = {}
    for checkpoint in checkpoints:
        grown = 0.3 if checkpoint == 0 else 1.0
        uneven = 1 + 0.4 * (-1.0) ** np.arange(sub_updates)[:, None]
        noise = generator.uniform(0.9, 1.1, (sub_updates, tokens))
        lengths = grown * scale * uneven * noise * np.linspace(0.7, 1.5, sub_updates)[:, None]
        turn = generator.uniform(20, 40, (sub_updates, tokens)) * (1 + index % 3)
        turn[0] = np.nan
        path = lengths.sum(0)
        measurements[checkpoint] = {
            "step_length": lengths.astype(np.float32),
            "turning_angle": turn.astype(np.float32),
            "stream_norm": lengths.cumsum(0).astype(np.float32),
            "path_length": path.astype(np.float32),
            "path_over_norm": (path / lengths[-1] / 4).astype(np.float32),
            "straightness": np.full(tokens, 0.3 + 0.1 * index, np.float32),
            "zero_steps": np.zeros(tokens, np.float32),
            "increment": (lengths * (1 + 2 * (index % 4))).astype(np.float32),
        }
        if index % 2:
            # As a ledger's: the step is the velocity.
            measurements[checkpoint]["velocity_norm"] = lengths.astype(np.float32)
    null = {"path_length": 9.0 * scale, "turning_angle": 90.0 / (1 + index), "straightness": 0.29}
    null["path_over_norm"] = 2.0 + index
    return cell_dataset(
        train_loss=loss,
        val_step=step,
        val_loss=loss,
        paths=path_dataset(measurements, windows=2),
        nulls={c: null for c in checkpoints},
        attributes={},
    )


@pytest.fixture(scope="session")
def bundle_of(tmp_path_factory):
    """Return a maker of bundles, each in a folder of its own."""

    def make(*arguments, **options) -> Path:
        return make_bundle(tmp_path_factory.mktemp("run") / "run", *arguments, **options)

    return make
