"""The reference enlarged to the sizes of others."""

import dataclasses as dc
from typing import Any

import pytest

from velocity_ledger.errors import UserError
from velocity_ledger.experiment import PRESETS, ExperimentConfig, open_bundle
from velocity_ledger.experiment._config import MATCH_TOLERANCE
from velocity_ledger.experiment._describe import forward_flops, parameter_count
from velocity_ledger.experiment._fairness import fairness_notes
from velocity_ledger.experiment._manifest import read_manifest, write_manifest
from velocity_ledger.experiment._match import Matched, with_matches
from velocity_ledger.experiment._variants import variants_of
from velocity_ledger.model import ModelConfig

MODEL = ModelConfig(layers=3, width=16, heads=2, hidden=64, context=8, vocabulary=11)
COST = {"params": parameter_count, "flops": forward_flops}


def matched(*texts, match, by: Any = "width"):
    config = ExperimentConfig(model=MODEL, variants=texts, match=match, match_by=by)
    return with_matches(variants_of(texts), config)


@pytest.mark.parametrize(
    ("text", "match", "by"),
    [
        ("macaron", "params", "width"),
        ("macaron", "params", "depth"),
        ("heun", "flops", "width"),
        ("rk4", "flops", "depth"),
    ],
)
def test_no_other_size_of_the_reference_is_nearer(text, match, by):
    variants, found = matched("plain", text, match=match, by=by)
    m = found[text]
    model = (
        next(v for v in variants if v.text == m.text).configure(ExperimentConfig(model=MODEL)).model
    )
    cost, reference = COST[match], variants[0].integrator
    wanted = cost(variants[1].integrator, MODEL)
    size = cost(reference, model)
    assert (m.wanted, m.size) == (wanted, size)

    def coarse(k: int) -> int:
        width = model.width + 2 * k
        shape = (
            dc.replace(MODEL, layers=model.layers + k)
            if by == "depth"
            else dc.replace(MODEL, width=width, hidden=4 * width)
        )
        return cost(reference, shape)

    def fine(k: int) -> int:
        return cost(reference, dc.replace(model, hidden=model.hidden + k))

    assert all(abs(coarse(0) - wanted) <= abs(coarse(k) - wanted) for k in (-1, 1))
    assert fine(0) == size
    assert all(abs(size - wanted) <= abs(fine(k) - wanted) for k in (-1, 1))
    assert abs(size - wanted) < fine(1) - size


def test_a_table_of_velocities_is_matched_by_hidden_units_alone():
    table = 'yuriiformer(velocity="tokens")'
    _, found = matched("plain", table, match="params")
    (m,) = found.values()
    assert abs(m.size - m.wanted) <= 3 * (2 * MODEL.width + 1) / 2
    assert m.text == f"plain with model.hidden={MODEL.hidden + 4}"


def test_a_variant_of_the_same_size_needs_no_rival():
    variants, found = matched("plain", "ledger", "yuriiformer", match="params")
    sizes = [parameter_count(v.integrator, MODEL) for v in variants]
    assert len(set(sizes)) > 1 and max(sizes) <= (1 + MATCH_TOLERANCE) * sizes[0]
    assert not found and len(variants) == 3


def test_two_of_one_size_share_a_rival():
    variants, found = matched("plain", "heun", "heun with training.clip=0.5", match="flops")
    assert len(variants) == 4
    assert {m.text for m in found.values()} == {variants[3].text}


def test_what_has_been_matched_gets_no_other_rival():
    texts = ["plain", "heun", "plain with model.width=20 model.hidden=300", "rk4"]
    config = ExperimentConfig(model=MODEL, variants=tuple(texts), match="flops")
    variants, found = with_matches(variants_of(texts), config, done=texts[:3])
    assert list(found) == ["rk4"]
    assert [v.text for v in variants] == [*texts, found["rk4"].text]


def test_a_size_that_depth_cannot_come_near_is_refused():
    with pytest.raises(UserError, match="match by depth"):
        matched("plain", "ledger with model.width=2 model.hidden=1 model.layers=1",
                match="params")  # fmt: skip
    with pytest.raises(UserError, match="match by width"):
        matched("plain", "ledger with model.width=8 model.hidden=4 model.layers=1",
                match="params", by="depth")  # fmt: skip


def test_the_reference_in_another_size_needs_no_rival():
    """Else a run that is added to would match its own matches."""
    rival = "plain with model.width=24 model.hidden=70"
    variants, found = matched("plain", rival, match="params")
    assert [v.text for v in variants] == ["plain", rival] and not found


@pytest.mark.parametrize(
    ("size", "by", "made"),
    [(1300, "width", "wider"), (700, "width", "narrower"), (1300, "depth", "deeper"),
     (700, "depth", "shallower")],
)  # fmt: skip
def test_notes_tell_larger_from_smaller_and_what_is_near(size, by, made, synthetic):
    texts = ("plain", "other", "rival", "near", "far")
    config = dc.replace(
        PRESETS["smoke"], variants=texts, match="flops", match_by=by, corpus="text.txt"
    )
    path = synthetic(config=config)
    manifest = read_manifest(path)
    sizes = (1000, size + 3, size, 1009, 1011)
    for record, flops in zip(manifest["variants"], sizes, strict=True):
        record["flops_per_token_forward"] = flops
    manifest["variants"][1]["match"] = dc.asdict(Matched("rival", size, size + 3))
    write_manifest(path, manifest)
    assert fairness_notes(open_bundle(path)) == [
        f"rival is plain made {made} to match other: {size:,} FLOPs a token against {size + 3:,} "
        f"({-300 / (size + 3):+.1f} %).",
        "Within 1 % of the first one's FLOPs a token as they are: near.",
        "FLOPs are those of attention, MLPs and head: what an integrator itself computes is not "
        "among them.",
    ]
