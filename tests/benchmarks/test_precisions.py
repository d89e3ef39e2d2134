"""Paired seeds in two precisions: the library's own runs, and what is told of them."""

import contextlib
import dataclasses as dc
import io
import json

import pytest

from benchmarks import precisions
from small_run import MODEL, SENTENCE, SIZES
from velocity_ledger.experiment import PRESETS, open_bundle


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The command at a small size: its folder, status and words."""
    folder = tmp_path_factory.mktemp("precisions")
    text = folder / "text.txt"
    text.write_text(SENTENCE * 60)
    smoke = PRESETS["smoke"]
    training = dc.replace(smoke.training, **SIZES, steps=6, val_every=3)
    small = dc.replace(smoke, model=MODEL, training=training, sample=1)
    own = ["--quick", "--text", text, "--out", folder / "out", "--seeds", "3", "1", "--steps", "4"]
    words = [str(word) for word in own]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "smoke", small)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            status = precisions.main(words)
    return folder / "out", status, said.getvalue()


def test_the_two_bundles_differ_in_precision_alone(made):
    folder, _, _ = made
    fp32, bf16 = (open_bundle(folder / name).config for name in ("fp32", "bf16"))
    assert fp32 is not None
    assert bf16 is not None
    assert bf16.model.precision == "bf16"
    assert dc.replace(bf16, model=dc.replace(bf16.model, precision="fp32")) == fp32


def test_losses_are_those_of_the_same_step_and_seed(made):
    folder, status, said = made
    found = json.loads((folder / "precisions.json").read_text())
    for precision, losses in found["losses"].items():
        for (_, seed), data in open_bundle(folder / precision).datasets.items():
            assert int(data["validation"][-1]) == found["steps"] == 4
            assert losses[str(seed)] == float(data["val_loss"][-1])
    fp32, bf16 = found["losses"].values()
    mean = sum(bf16[seed] - fp32[seed] for seed in fp32) / 2
    assert found["difference"]["mean"] == pytest.approx(mean)
    assert status == (0 if abs(mean) <= 0.01 else 1)
    assert f"{mean:+.4f}" in said


def test_the_step_scales_begin_at_one_and_move(made):
    """In bf16, too: a weight of 7 bits at 1 would not see steps below 2^-8."""
    folder, _, _ = made
    found = json.loads((folder / "precisions.json").read_text())
    for precision in ("fp32", "bf16"):
        assert min(found["moved"][precision]["alpha"]) > 0
        for data in open_bundle(folder / precision).datasets.values():
            alpha = data["learned_alpha"].values
            assert alpha.dtype == "float32"
            assert (alpha[0] == 1.0).all()
            assert 0 < abs(alpha[-1] - 1.0).max() < 2.0**-8


def test_a_mistake_is_one_line(capsys):
    assert precisions.main(["--steps", "none"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert precisions.main(["--text", "none.txt"]) == 2
    assert (
        capsys.readouterr().err == "precisions: error: argument --text: none.txt does not exist\n"
    )
