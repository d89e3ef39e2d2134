"""A variant that breaks the contract is refused by what it broke, before anything trains."""

import dataclasses as dc

import pytest

from velocity_ledger import integrators
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import FOUR, PRESETS, describe
from velocity_ledger.experiment._trial import first_line, try_variant
from velocity_ledger.experiment._variants import variants_of
from velocity_ledger.model import ModelConfig

MODEL = ModelConfig(layers=1, width=8, heads=2, hidden=8, context=4, vocabulary=5)
FILE = """
import jax.numpy as jnp
from velocity_ledger.integrators import Info, Integrator


class Mine(Integrator):
    def init(self, x0, ctx):
        return x0, jnp.zeros(x0.shape[:-1])

    def step(self, field, stream, state, ctx):
        f = field(stream)
        info = Info(increment=f, raw_step=f, step=f)
        {line}
        return stream + f, state, info
"""
BROKEN = {
    "info = None": "NoneType where an Info belongs",
    "return stream + f, state": "step must return the stream, the state and an Info",
    "info = Info(increment=f, raw_step=f, step=f[..., :1])": r"Info's step has shape .2, 3, 1.",
    "info = Info(increment=f, raw_step=None, step=f)": "Info's raw_step has None",
    "info = Info(increment=f, raw_step=f, step=f, velocity=f[0])": "Info's velocity has shape",
    "state = (state, f)": "changes the structure of the state",
    "stream = stream.astype('float16'); f = f.astype('float16')":
        "changes the stream from float32.* to float16",
    "state = state.astype('float16')": "changes the state from float32.* to float16",
    "state = state[..., None]": "changes the state from float32",
    "stream = stream[..., :1]; f = f[..., :1]": "changes the stream from float32",
    "info = f @ f": r"does not run \(TypeError",
    "raise SystemExit(0)": r"does not run \(SystemExit: 0",
}  # fmt: skip


def written(folder, line):
    file = folder / "mine.py"
    file.write_text(FILE.replace("{line}", line))
    return f"{file}:Mine"


@pytest.mark.parametrize("line", BROKEN)
def test_a_breach_is_named_in_one_line_with_the_file(tmp_path, line):
    (variant,) = variants_of([written(tmp_path, line)])
    with pytest.raises(UserError, match=BROKEN[line]) as caught:
        try_variant(variant, MODEL)
    assert str(caught.value).startswith(variant.text)
    assert str(caught.value).endswith(f"mend {tmp_path / 'mine.py'}")


def test_what_keeps_the_contract_passes(tmp_path):
    for variant in variants_of([written(tmp_path, "state = state + 1"), *FOUR]):
        try_variant(variant, MODEL)


def test_describe_refuses_it_too(tmp_path):
    config = dc.replace(PRESETS["smoke"], variants=("plain", written(tmp_path, "info = None")))
    with pytest.raises(UserError, match="where an Info belongs"):
        describe(config)


def test_what_cannot_be_differentiated_is_told_in_one_line(tmp_path):
    form = written(tmp_path, "stream = __import__('jax').pure_callback(abs, stream, stream)")
    with pytest.raises(UserError, match=r"has no derivative \(ValueError.*mend .*mine\.py$"):
        describe(dc.replace(PRESETS["smoke"], variants=(form,)))


def test_our_own_mistakes_are_not_blamed_on_the_user(monkeypatch):
    (variant,) = variants_of(["plain"])

    def broken(*given):
        raise ZeroDivisionError

    monkeypatch.setattr(type(integrators.parse("plain")), "step", broken)
    with pytest.raises(ZeroDivisionError):
        try_variant(variant, MODEL)


def test_of_an_exception_the_first_line():
    assert first_line(ValueError("one\ntwo")) == "ValueError: one"
    assert first_line(ValueError()) == "ValueError"
