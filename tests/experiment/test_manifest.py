"""The manifest: strict JSON, read back as the same values, refused where damaged."""

import dataclasses as dc
import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _json
from velocity_ledger.experiment._config import PRESETS, ExperimentConfig
from velocity_ledger.experiment._manifest import (
    CellRecord,
    cell_records,
    config_from_dict,
    differences,
    read_manifest,
    slugs,
    write_manifest,
)
from velocity_ledger.model._config import BLOCKS, ModelConfig
from velocity_ledger.training._config import TrainingConfig


def test_numbers_that_are_not_finite_become_null():
    text = _json.dumps({"a": float("nan"), "b": np.float32("inf"), "c": np.arange(2), "d": (1,)})
    assert json.loads(text) == {"a": None, "b": None, "c": [0, 1], "d": [1]}


@pytest.mark.parametrize("text", ['{"a": NaN}', "[Infinity]", "{", ""])
def test_json_that_is_not_strict_is_refused(text):
    with pytest.raises(ValueError):
        _json.loads(text)


def test_a_best_value_survives_the_manifest_bit_for_bit(tmp_path):
    value = float(np.nextafter(1.43, 2))
    assert _json.loads(_json.dumps({"v": value}))["v"] == value


@pytest.mark.parametrize("name", PRESETS)
def test_configuration_is_the_same_value_after_the_manifest(name):
    config = PRESETS[name]
    back = config_from_dict(json.loads(_json.dumps(config)))
    assert back == config
    assert hash(back) == hash(config)


def test_whole_floats_and_optional_fields_keep_their_types():
    config = ExperimentConfig(
        training=TrainingConfig(clip=1.0, patience=3, telemetry_at=(0.0, 1.0))
    )
    back = config_from_dict(json.loads(_json.dumps(config).replace("1.0", "1")))
    assert back == config
    assert isinstance(back.training.clip, float)
    assert back.training.patience == 3


def test_block_settings_are_kept_and_older_manifests_have_the_defaults():
    config = ExperimentConfig(model=ModelConfig(kv_heads=2, **BLOCKS["ngpt"]))
    record = json.loads(_json.dumps(config))
    assert config_from_dict(record) == config
    for name in (*BLOCKS["ngpt"], "kv_heads"):
        del record["model"][name]
    del record["training"]["beta1"], record["training"]["beta2"]
    assert config_from_dict(record) == ExperimentConfig()


def test_unknown_field_is_named():
    record = json.loads(_json.dumps(PRESETS["smoke"]))
    record["training"]["momentum"] = 1
    with pytest.raises(UserError, match=r"training\.momentum"):
        config_from_dict(record)


@pytest.mark.parametrize("value", ["many", None, -1, [1]])
def test_damaged_configuration_is_one_sentence(value):
    record = json.loads(_json.dumps(PRESETS["smoke"]))
    record["training"]["steps"] = value
    with pytest.raises(UserError, match=r"damaged at training|must be at least 1"):
        config_from_dict(record)


def test_differences_name_the_dotted_field_and_both_values():
    a = PRESETS["smoke"]
    b = dc.replace(
        a,
        training=dc.replace(a.training, steps=30),
        model=dc.replace(a.model, width=64),
        seeds=(1,),
    )
    assert differences(a, a) == []
    assert differences(a, b) == [
        ("model.width", 32, 64),
        ("training.steps", 20, 30),
        ("seeds", (0,), (1,)),
    ]


def test_every_field_of_every_part_is_compared():
    a = ExperimentConfig()
    other = {int: 9, float: 0.5, bool: True, str: "other"}
    for part, cls in (("model", ModelConfig), ("training", TrainingConfig)):
        for field in dc.fields(cls):
            value = getattr(getattr(a, part), field.name)
            new = 9 if value is None else (0.5,) if isinstance(value, tuple) else other[type(value)]
            new = not value if isinstance(value, bool) else new
            changed = object.__new__(cls)
            changed.__dict__.update(vars(getattr(a, part)) | {field.name: new})
            b = dc.replace(a, **{part: changed})
            assert [d[0] for d in differences(a, b)] == [f"{part}.{field.name}"]


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=6, unique=True))
def test_slugs_are_distinct_folder_names(texts):
    found = slugs(texts)
    assert len({s.lower() for s in found}) == len(texts)
    for slug in found:
        assert slug
        assert not slug.startswith(".")
        assert not set("/\\:() ") & set(slug)


def test_slugs_of_the_usual_texts():
    texts = ["plain", "ledger(mu=0.95)", "ledger(mu=0.95, h=2.0)", "./mine.py:Mine", "a/b", "a-b"]
    assert slugs(texts) == [
        "plain", "ledger-mu=0.95", "ledger-mu=0.95-h=2.0", "mine.py-Mine", "a-b", "a-b-2",
    ]  # fmt: skip


def test_written_manifest_is_read_back(tmp_path, synthetic):
    folder = synthetic()
    manifest = read_manifest(folder)
    assert [c.name for c in cell_records(manifest)] == [
        "plain/0", "ledger/0", "plain/1", "ledger/1",
    ]  # fmt: skip
    assert all(isinstance(c, CellRecord) for c in cell_records(manifest))


def test_unknown_keys_of_a_cell_are_ignored(synthetic):
    folder = synthetic()
    manifest = read_manifest(folder)
    manifest["cells"][0]["later"] = 1
    write_manifest(folder, manifest)
    assert len(cell_records(read_manifest(folder))) == 4


def _broken(manifest, key, value):
    changed = dict(manifest)
    changed[key] = value
    return json.dumps(changed)


def _changed(manifest, *where, **changes):
    part = manifest
    for key in where:
        part = part[key]
    part.update(changes)
    return json.dumps(manifest)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: json.dumps(m)[:-40], "damaged .not JSON"),
        (lambda m: "", "damaged .not JSON"),
        (lambda m: "[]", "is not a bundle"),
        (lambda m: _broken(m, "format", "other"), "is not a bundle"),
        (lambda m: _broken(m, "schema_version", 99), "newer velocity-ledger .schema 99.*upgrade"),
        (lambda m: _broken(m, "schema_version", None), "no schema_version"),
        (lambda m: _broken(m, "cells", None), "no cells"),
        (lambda m: _broken(m, "cells", [{"variant": "plain"}]), "damaged .cells"),
        (lambda m: _broken(m, "cells", [3]), "damaged .cells"),
        (
            lambda m: _broken(m, "cells", [m["cells"][0] | {"slug": "../../etc"}]),
            "damaged .cells",
        ),
        (lambda m: _broken(m, "cells", [m["cells"][0] | {"state": "odd"}]), "damaged .cells"),
        (lambda m: _broken(m, "variants", []), "damaged .variants"),
        (lambda m: _broken(m, "variants", [3]), "damaged .variants"),
        (lambda m: _broken(m, "variants", [*m["variants"], 3]), "damaged .variants"),
        (lambda m: _changed(m, "variants", 0, file=3), "damaged .variants"),
        (lambda m: _changed(m, "variants", 1, text="plain"), "damaged .variants"),
        (lambda m: _changed(m, "variants", 1, axes=["Euler()"]), "damaged .variants"),
        (lambda m: _changed(m, "variants", 1, axes={"momentum": 3}), "damaged .variants"),
        (lambda m: _changed(m, "variants", 1, parameters="many"), "damaged .variants"),
        (lambda m: _changed(m, "variants", 1, description=[]), "damaged .variants"),
        (lambda m: _changed(m, "variants", 1, match="plain"), "damaged .variants"),
        (
            lambda m: _changed(m, "variants", 1, match={"text": "plain", "size": 1, "wanted": 0}),
            "damaged .variants",
        ),
        (lambda m: _changed(m, "variants", 1, peak_rate="high"), "damaged .variants"),
        (lambda m: _changed(m, "variants", 1, peak_rate=10**400), "damaged .variants"),
        (lambda m: _changed(m, "variants", 1, own=["model.width"]), "damaged .variants"),
        (lambda m: _changed(m, "variants", 1, parameters=10**400), "damaged .variants"),
        (lambda m: _changed(m, "cells", 0, step=10**400), "damaged .cells"),
        (lambda m: _broken(m, "converted_from", {}), "damaged .converted_from"),
        (lambda m: _changed(m, "corpus", characters=0), "damaged .corpus"),
        (lambda m: _broken(m | {"origin": {}}, "configuration", {"model": 3}), "damaged .model"),
        (lambda m: _broken(m, "cells", m["cells"][:3]), "its cells are not those"),
        (lambda m: _changed(m, "cells", 0, best_val="low"), "damaged .cells"),
        (lambda m: _changed(m, "cells", 0, seed=True), "damaged .cells"),
        (lambda m: _changed(m, "configuration", variants=[3]), "damaged at variants"),
        (lambda m: _changed(m, "configuration", seeds=[0, 1.5]), "damaged at seeds"),
        (lambda m: _changed(m, "configuration", corpus=None), "damaged at corpus"),
        (lambda m: _changed(m, "configuration", "model", width=33), "not a multiple of 2 heads"),
        (lambda m: _changed(m, "configuration", "model", scan=1), "damaged at model.scan"),
        (lambda m: _changed(m, "configuration", "model", norm="no"), "damaged at model.norm"),
        (lambda m: _changed(m, "configuration", "training", clip=None), "damaged at training.clip"),
        (lambda m: _changed(m, "vocabulary", size=4), "damaged .vocabulary"),
        (lambda m: _changed(m, "vocabulary", characters=3), "damaged .vocabulary"),
        (lambda m: _changed(m, "corpus", characters="many"), "damaged .corpus"),
        (lambda m: _broken(m, "sessions", 3), "damaged .sessions"),
        (lambda m: json.dumps(m).replace("1000.0", "NaN"), "damaged .not JSON"),
    ],
)
def test_damaged_manifest_is_one_sentence(synthetic, change, words):
    folder = synthetic()
    text = change(json.loads((folder / "manifest.json").read_text()))
    (folder / "manifest.json").write_text(text)
    with pytest.raises(UserError, match=words) as caught:
        read_manifest(folder)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)


def test_manifest_that_is_not_utf8(synthetic):
    folder = synthetic()
    (folder / "manifest.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(UserError, match="not UTF-8"):
        read_manifest(folder)


def test_not_a_bundle(tmp_path):
    with pytest.raises(UserError, match="not a bundle"):
        read_manifest(tmp_path)
    with pytest.raises(UserError, match="does not exist"):
        read_manifest(tmp_path / "absent")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file is a file: give the folder of a run"):
        read_manifest(tmp_path / "file")
