"""What a variant sets for itself."""

import dataclasses as dc

import pytest

from velocity_ledger.errors import UserError
from velocity_ledger.experiment import PRESETS, describe, named_variants
from velocity_ledger.experiment._own import join, split
from velocity_ledger.experiment._variants import (
    describe_text,
    sources_of,
    sources_of_text,
    variants_of,
)
from velocity_ledger.experiment._wholes import WHOLES

SMOKE = PRESETS["smoke"]


def test_settings_are_read_and_written_in_one_order():
    text = "ledger(mu=0.8) with training.peak_rate=.002 model.width=48  model.scan=TRUE"
    form, own = split(text)
    assert form == "ledger(mu=0.8)"
    assert own == {"model.width": 48, "model.scan": True, "training.peak_rate": 0.002}
    again = join(form, own)
    assert again == "ledger(mu=0.8) with model.width=48 model.scan=true training.peak_rate=0.002"
    assert split(again) == (form, own)


def test_a_form_without_settings_is_left_alone():
    assert split("./a with b/mine.py:Mine(h=0.5)") == ("./a with b/mine.py:Mine(h=0.5)", {})


@pytest.mark.parametrize(
    "text", ["ngpt", "ngpt with model.width=48", "ledger(mu=0.5) with blocks=llama", "adamformer"]
)
def test_settings_of_its_own_take_no_paper_from_a_variant(text):
    (variant,) = variants_of([text])
    assert sources_of_text(text) == sources_of(variant) and sources_of(variant)


def test_a_file_that_is_gone_has_no_paper():
    assert sources_of_text("./gone.py:Mine(h=0.5) with model.width=48") == ()


@pytest.mark.parametrize(
    "text",
    [
        "ngpt with", "plain with width", "plain with model.width = 48",
        "plain with model.layers=2 with model.width=48",
    ],
)  # fmt: skip
def test_settings_written_otherwise_are_said_to_be(text):
    with pytest.raises(UserError, match=r"settings are written .*model\.width=132"):
        split(text)


def test_a_whole_network_takes_no_arguments():
    with pytest.raises(UserError, match=r"ngpt is a whole network.*write ngpt"):
        split("ngpt(mu=0.5)")


def test_one_integrator_with_two_settings_is_two_variants():
    plain, wide = variants_of(["plain", "plain with model.width=48"])
    assert plain.integrator == wide.integrator and plain.slug != wide.slug
    assert plain.configure(SMOKE) == SMOKE
    assert wide.configure(SMOKE).model == dc.replace(SMOKE.model, width=48)


def test_the_same_variant_twice_is_refused_however_it_is_written():
    with pytest.raises(UserError, match="same variant"):
        variants_of(["plain with training.peak_rate=1e-3", "plain with training.peak_rate=.001"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("plain with model.context=8", "model.context is no variant's own"),
        ("plain with training.steps=8", "training.steps is no variant's own"),
        ("plain with training.batch=8", "training.batch is no variant's own"),
        ("plain with width=8", "width is no variant's own"),
        ("plain with model.width=8 model.width=9", "twice"),
        ("plain with model.width=wide", "a whole number"),
        ("plain with model.scan=1", "true or false"),
        ("plain with model.width=8 nonsense", "nonsense is no variant's own"),
    ],
)
def test_what_no_variant_may_set_is_refused(text, words):
    with pytest.raises(UserError, match=words):
        split(text)


def test_describe_counts_the_variant_as_it_is_set():
    config = dc.replace(SMOKE, variants=("plain", "plain with model.layers=4"))
    two, four = describe(config)
    assert (two["layers"], four["layers"]) == (2, 4)
    assert four["parameters"] > two["parameters"]
    assert four["flops_per_step"] > two["flops_per_step"]


def test_named_blocks_come_first_and_single_settings_after():
    (variant,) = variants_of(["plain with model.bias=true blocks=llama"])
    assert variant.text == "plain with blocks=llama model.bias=true"
    model = variant.configure(SMOKE).model
    assert (model.norm, model.positions, model.bias) == ("rms", "rope", True)
    assert model.width == SMOKE.model.width


def test_a_whole_network_goes_by_its_name():
    whole, other = variants_of(["ngpt", "ngpt with model.dropout=0.0"])
    assert (whole.text, other.text) == ("ngpt", "ngpt with model.dropout=0.0")
    assert whole.form == "ngpt-step(radius=1.0)"
    config = whole.configure(SMOKE)
    assert config.model.unit_weights and not config.model.final_norm
    assert (config.training.warmup, config.training.weight_decay) == (0, 0.0)
    assert (config.training.beta1, config.training.beta2) == (0.9, 0.95)
    assert other.configure(SMOKE).model.dropout == 0.0
    assert describe_text(whole).startswith("nGPT whole")
    # Written out, it is the same variant.
    with pytest.raises(UserError, match="same variant"):
        variants_of(["ngpt", WHOLES["ngpt"].text])
    part = WHOLES["ngpt"].text.replace("training.warmup=0 ", "")
    assert variants_of([part])[0].text == part


def test_every_name_is_a_variant_that_can_be_built():
    names = named_variants()
    assert set(WHOLES) < set(names) and len(names) > 26
    assert [v.text for v in variants_of(names)] == list(names)
