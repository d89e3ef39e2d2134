"""A configuration of GPT-2's size builds, trains and is measured."""

import dataclasses as dc

import numpy as np
import pytest

import velocity_ledger as vl


@pytest.mark.slow
def test_twelve_layers_of_width_768(tmp_path):
    text = "".join(chr(97 + (k * k) % 23) for k in range(4_000))
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    config = dc.replace(
        vl.PRESETS["smoke"],
        model=vl.ModelConfig(
            layers=12, width=768, heads=12, hidden=3072, context=32, dropout=0.1, scan=True
        ),
        training=vl.TrainingConfig(
            steps=20, batch=2, warmup=4, val_every=20, val_batches=1, checkpoint_every=20,
            telemetry_at=(0.0, 1.0), probe_windows=2,
        ),
        variants=("ledger",),
        corpus=str(tmp_path / "text.txt"),
    )  # fmt: skip
    assert vl.run_experiment(config, tmp_path / "run") == 0
    bundle = vl.open_bundle(tmp_path / "run")
    (cell,) = bundle.cells
    assert cell.state == "finished"
    assert cell.step == 20
    (variant,) = bundle.manifest["variants"]
    assert variant["parameters"] > 85_000_000
    data = bundle.view().isel(variant=0, seed=0)
    loss = data.train_loss.values
    assert loss.shape == (20,)
    assert loss[-5:].mean() < loss[:5].mean()
    assert data.sizes["sub_update"] == 24
    assert data.checkpoint.values.tolist() == [0, 20]
    steps = data.step_length.values
    assert np.all(np.isfinite(steps))
    assert np.all(steps > 0)
