"""What an integrator has learned is kept at every checkpoint, and its null model uses it."""

import dataclasses as dc

import jax.numpy as jnp
import numpy as np

import velocity_ledger as vl
from small_run import MODEL, SENTENCE, SIZES
from velocity_ledger.telemetry import null_of_checkpoint


def test_alpha_at_each_checkpoint(tmp_path):
    (tmp_path / "text.txt").write_text(SENTENCE * 150)
    smoke = vl.PRESETS["smoke"]
    config = dc.replace(
        smoke,
        model=MODEL,
        training=dc.replace(
            smoke.training, steps=6, val_every=3, telemetry_at=(0.0, 0.5, 1.0), **SIZES
        ),
        variants=("ngpt-lite",),
        corpus=str(tmp_path / "text.txt"),
    )
    assert vl.run_experiment(config, tmp_path / "run") == 0
    data = vl.open_bundle(tmp_path / "run").datasets["ngpt-lite", 0]
    alpha = data["learned_alpha"]
    assert alpha.dims == ("checkpoint", "sub_update", "alpha_0")
    assert alpha.shape == (3, 2, config.model.width)
    assert np.all(alpha.sel(checkpoint=0) == 1)
    assert np.all(alpha.sel(checkpoint=3) != alpha.sel(checkpoint=6))
    # At the last checkpoint these are the weights that were saved, where they are the best ones.
    if data.attrs["best_step"] == 6:
        net = vl.load_cell(tmp_path / "run", "ngpt-lite/0")
        np.testing.assert_array_equal(net.integrator_parameters()["alpha"], alpha[-1])
    for step in (0, 3, 6):
        own = {"alpha": jnp.asarray(alpha.sel(checkpoint=step).values)}
        null = null_of_checkpoint(
            data, step, vl.ngpt_lite(), width=config.model.width, parameters=own
        )
        stored = float(data["null_path_length"].sel(checkpoint=step))
        np.testing.assert_allclose(null["path_length"], stored, rtol=1e-6)
