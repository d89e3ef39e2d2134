"""The page without a browser: what it says, what it escapes, what it loads, how large it is."""

import itertools
import json
import re
from typing import Any

import numpy as np
import pytest

from report.pages import HOSTILE, Reader, page_of
from velocity_ledger.cli import main
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _json, open_bundle, summary
from velocity_ledger.report import write_page
from velocity_ledger.report._data import variants
from velocity_ledger.report.page import _facts, _write
from velocity_ledger.report.page._embed import json_for_script
from velocity_ledger.report.page._numbers import bounds, number, signed
from velocity_ledger.report.page._paths import measurements
from velocity_ledger.report.page._verdict import verdict
from velocity_ledger.telemetry import mean_interval


@pytest.fixture(scope="module")
def full(bundle_of, tmp_path_factory):
    """A bundle of four variants and two seeds, and its page."""
    path = bundle_of(seeds=(0, 1))
    return path, page_of(path, tmp_path_factory.mktemp("film"))


def said(path) -> dict[str, str]:
    bundle = open_bundle(path)
    found = verdict(bundle, measurements(variants(bundle)))
    return {about: str(words.striptags()) for about, words in found.paragraphs} | {
        "headline": found.headline,
        "beside": found.beside,
    }


def edit_manifest(path, change):
    file = path / "manifest.json"
    manifest = _json.loads(file.read_text(encoding="utf-8"))
    change(manifest)
    file.write_text(json.dumps(manifest), encoding="utf-8")


def test_the_verdict_has_the_numbers_of_the_summary(bundle_of):
    path = bundle_of()
    words, rows = said(path), summary(open_bundle(path))
    for row in rows[1:]:
        assert row.difference is not None
        direction = "lower" if row.difference.mean < 0 else "higher"
        difference = f"{number(abs(row.difference.mean), 4)} {direction} for {row.variant}"
        assert f"{difference} {bounds(row.difference, 4)}" in words["Quality"]
    for row in rows:
        assert f"{number(row.turning_angle, 1)}° for {row.variant}" in words["Path"]
        assert f"{number(row.path_length, 1)} for {row.variant}" in words["Path"]
        assert f"{number(row.straightness, 3)} for {row.variant}" in words["Path"]
        assert row.turning_angle is not None and row.null_turning_angle is not None
        turned = row.turning_angle - row.null_turning_angle
        assert (
            f"{number(abs(turned), 1)}° {'less' if turned < 0 else 'more'}" in words["Null model"]
        )
    assert f"{number(rows[1].turning_angle, 1)}°" in words["headline"]


def test_of_many_variants_the_first_and_the_ends_are_told(bundle_of):
    texts = ("plain", *(f"ledger(mu={mu})" for mu in (0.5, 0.6, 0.7, 0.8, 0.9)))
    path = bundle_of(texts, (0, 1))
    words, rows = said(path), summary(open_bundle(path))
    assert "The table has each variant" in words["Quality"]
    assert not any(f" for {row.variant} [" in words["Quality"] for row in rows)
    turns = sorted((row.turning_angle or 0.0, row.variant) for row in rows)
    (low, least), (high, most) = turns[0], turns[-1]
    ends = f"goes from {number(low, 1)}° for {least} to {number(high, 1)}° for {most}."
    assert f"turns by {number(rows[0].turning_angle, 1)}° for plain; it {ends}" in words["Path"]
    assert "The table has the others." in words["Null model"]


def test_an_interval_that_spans_zero_shows_no_difference(bundle_of):
    path = bundle_of(("plain", "ledger", "ngpt-lite"))

    def change(manifest):
        for cell in manifest["cells"]:
            near = {"plain": 0.0, "ledger": 0.01 * (cell["seed"] - 1), "ngpt-lite": 0.5}
            cell["best_val"] = 1.5 + near[cell["variant"]] + 1e-3 * cell["seed"]
            cell["best_step"] = 600

    edit_manifest(path, change)
    quality = said(path)["Quality"]
    assert "That of ledger includes zero: no difference is shown." in quality
    # These do not vary at all, so that there is an interval, of no width.
    assert "That of ngpt-lite excludes zero." in quality
    assert "over 3 seeds" in quality


def test_one_seed_has_no_interval_and_ranks_nothing(bundle_of):
    words = said(bundle_of(seeds=(4,)))
    assert "One seed gives no interval" in words["Quality"]
    assert "ranks nothing" in words["Quality"]
    assert "[" not in words["Quality"]
    assert words["Path"].startswith("On one seed")


def test_no_ranking_is_spoken_of_anywhere_else(bundle_of):
    for path in (bundle_of(), bundle_of(seeds=(0,))):
        text = " ".join(said(path).values())
        assert not re.search(r"\b(best variant|better|worse|wins?|winner|significant)\b", text)


def test_one_variant_is_compared_with_nothing(bundle_of, tmp_path):
    path = bundle_of(("ledger(mu=0.95)",), (0, 1))
    assert "no other variant" in said(path)["Quality"]
    assert Reader(page_of(path, tmp_path)).data()["differences"] is None


def test_runs_under_way_diverged_and_not_begun_have_pages(bundle_of, tmp_path):
    begun = bundle_of(("plain", "ledger"), (0,), validations=0, checkpoints=(0,))
    assert "No cell has been validated yet" in said(begun)["Quality"]
    nothing = bundle_of(("plain",), (0,), validations=0, checkpoints=())
    assert said(nothing)["headline"] == "Nothing has been measured yet"
    diverged = bundle_of(("plain", "ledger"), (0, 1), diverged=True)
    assert "No difference is given for ledger" in said(diverged)["Quality"] or (
        "none are compared" in said(diverged)["Quality"]
    )
    uneven = bundle_of(measured={("plain", 0): (0,), ("ledger", 1): (0, 60)})
    for path in (begun, nothing, diverged, uneven):
        read = Reader(page_of(path, tmp_path))
        assert read.misnested == [] and read.open == []
        read.data()


def test_an_imported_bundle_says_what_is_not_known(bundle_of, tmp_path):
    path = bundle_of(("plain", "ledger"), (0, 1))
    # Means over tokens and nothing else, as other programs keep them.
    for file in path.glob("cells/*/*/data.nc"):
        keep_means(file)
    words = said(path)
    assert "holds no null model" in words["Null model"]
    assert "Straightness is not known" in words["Path"]
    assert words["beside"] == "There is no null model to compare with."
    read = Reader(page_of(path, tmp_path))
    assert read.misnested == []
    data = read.data()
    assert not data["plane"]["projected"]
    assert all(
        null is None
        for at in data["scalars"]["data"].values()
        for row in at.values()
        for _, null in row.values()
    )


def keep_means(file):
    from velocity_ledger.experiment._cells import read_cell, write_cell
    from velocity_ledger.report._data import mean_defined

    data = read_cell(file)
    kept: dict[str, Any] = {"val_loss": data["val_loss"]}
    for name in ("step_length", "turning_angle", "stream_norm"):
        kept[name] = (("checkpoint", "sub_update"), mean_defined(data[name].values.astype(float)))
    write_cell(file, data.drop_vars(list(data.data_vars)).drop_dims("token").assign(kept))


@pytest.fixture(scope="module")
def hostile(bundle_of, tmp_path_factory):
    """The page of a bundle in which every string that a user or a file may choose is hostile."""
    path = bundle_of(("plain", HOSTILE), (0,))

    def change(manifest):
        for cell in manifest["cells"]:
            cell["message"] = f"message {HOSTILE}"
        for variant in manifest["variants"]:
            variant["description"] = f"description {HOSTILE}"
        manifest["corpus"] = {"name": f"corpus {HOSTILE}", "note": HOSTILE, "characters": 10_000}
        manifest["command"] = ["velocity-ledger", f"command {HOSTILE}"]
        manifest["sessions"] = [{"started": HOSTILE, "command": ["a", f"session {HOSTILE}"]}]
        manifest["environment"] = {HOSTILE: f"environment {HOSTILE}"}

    edit_manifest(path, change)
    for file in path.glob("cells/*/0"):
        record = {"prompt": f"prompt {HOSTILE}", "text": f"sample {HOSTILE}", "temperature": 0.8}
        record |= {"top_k": None, "seed": 7, "step": 600}
        (file / "sample.json").write_text(json.dumps(record), encoding="utf-8")
    return page_of(path, tmp_path_factory.mktemp("film"))


def test_hostile_strings_are_text_and_nothing_else(hostile, full):
    read, tame = Reader(hostile), Reader(full[1])
    assert read.misnested == [] and read.open == []
    # It adds no element that a tame bundle lacks, and no attribute that acts.
    assert {tag for tag, _ in read.elements} <= {tag for tag, _ in tame.elements} | {"pre"}
    assert len(read.named("script")) == 2 and len(read.named("style")) == 1
    assert not [a for _, a in read.elements for name in a if name.startswith("on")]
    assert len(read.named("img")) == 4
    # All of it is there to be read.
    for where in ("message", "corpus", "environment", "prompt", "sample"):
        assert f"{where} {HOSTILE}" in read.words(), where
    # Only the marks of code are taken from a description.
    assert f"description {HOSTILE}".replace("`", "") in read.words()
    assert f"prompt {HOSTILE}" in read.words("span")
    for where in ("command", "session"):
        assert f"{where} </script>" in read.words(), where
    assert HOSTILE in [v["text"] for v in read.data()["variants"]]
    assert "\u2028" not in next(t for tag, t in read.texts if tag == "script")


def test_data_for_a_script_are_strict_json_that_cannot_end_it():
    value = {"a": [np.float32(0.1), np.inf, float("nan"), np.arange(2)], HOSTILE: HOSTILE}
    text = str(json_for_script(value))
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == {"a": [0.1, None, None, [0, 1]], HOSTILE: HOSTILE}
    json_for_script("\ud800").encode("utf-8")


def test_a_page_loads_nothing(hostile, full):
    for text in (hostile, full[1]):
        read = Reader(text)
        for tag, attributes in read.elements:
            for name in ("src", "href", "srcset", "data", "action", "poster", "xlink:href"):
                value = attributes.get(name)
                assert value is None or value.startswith(("data:", "#")), (tag, value)
        program = [t for tag, t in read.texts if tag in ("script", "style")][1:]
        style = read.words("style")
        for code in (*program, style):
            assert "url(http" not in code and "@import" not in code
            assert not re.search(
                r"https?://|fetch\(|XMLHttpRequest|WebSocket|import\(|eval\(", code
            )
        (policy,) = [m["content"] for m in read.named("meta") if "http-equiv" in m]
        assert policy.startswith("default-src 'none'; img-src data:;")
        assert "unsafe" not in policy


def test_the_same_bundle_gives_the_same_page(full, tmp_path):
    path, text = full
    assert page_of(path, tmp_path) == text


def test_a_page_is_written_where_it_is_asked_for(bundle_of, tmp_path, monkeypatch):
    monkeypatch.setattr(_write, "write_animations", lambda *given: [])
    path = bundle_of(("plain",), (0,), checkpoints=(0,), validations=2, layers=1)
    assert write_page(path) == path / "report.html"
    assert {p.name for p in path.iterdir()} == {"manifest.json", "cells", "report.html"}
    assert write_page(path, tmp_path / "a" / "b.html") == tmp_path / "a" / "b.html"
    assert (tmp_path / "a" / "b.html").read_bytes() == (path / "report.html").read_bytes()


def test_the_document_is_in_order(full):
    read = Reader(full[1])
    assert read.named("html") == [{"lang": "en"}]
    assert read.words("title").strip()
    for landmark in ("main", "header", "nav", "footer"):
        assert len(read.named(landmark)) == 1
    levels = [int(tag[1]) for tag, _ in read.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    ids = [a["id"] for _, a in read.elements if "id" in a]
    assert len(ids) == len(set(ids))
    targets = {a["href"][1:] for a in read.named("a")}
    assert targets <= set(ids)


def test_tables_have_a_key_for_every_known_number(full):
    read = Reader(full[1])
    cells = [a for a in read.named("td") if "data-key" in a]
    numbers = [a["data-key"] for a in cells if "number" in a.get("class", "")]
    assert len(numbers) > 60
    for key in numbers:
        assert key == "" or np.isfinite(float(key))


def test_the_manifest_is_shown_and_what_it_lacks_is_not(bundle_of):
    path = bundle_of(("plain",), (0,))
    titles = [f.title for f in _facts.facts(open_bundle(path))]
    assert "Model" in titles and "Environment" not in titles
    assert _facts.command(open_bundle(path)) == ""
    edit_manifest(path, lambda m: m.update(command=["velocity-ledger", "train", "--out", "a b"]))
    assert _facts.command(open_bundle(path)) == "velocity-ledger train --out 'a b'"
    sessions = [{"command": ["x"], "stack_seeds": True}, {"command": ["y"], "stack_seeds": False}]
    edit_manifest(path, lambda m: m.update(sessions=sessions))
    told = [words for _, words in _facts.sessions(open_bundle(path))]
    assert told == ["x (seeds stacked)", "y"]


def test_numbers_in_words():
    assert number(-1234.5678, 1) == "−1,234.6"
    assert (number(-0.00001, 2), signed(0.001, 2), signed(0.0, 1)) == ("0.00", "0.00", "0.0")
    assert (signed(0.5, 1), signed(-0.5, 1)) == ("+0.5", "−0.5")
    assert (number(None, 1), signed(float("nan"), 1)) == ("–", "–")
    assert bounds(mean_interval([1.0]), 2) == ""
    assert bounds(mean_interval([1.0, 1.0]), 2) == "[+1.00, +1.00]"


def test_the_command_prints_the_page_it_wrote(bundle_of, tmp_path, capsys):
    path = bundle_of(("ledger",), (3,), checkpoints=(), validations=3)
    out = tmp_path / "new" / "page.html"
    assert main(["report", str(path), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_no_bundle_and_no_place_to_write_are_refused(bundle_of, tmp_path):
    with pytest.raises(UserError, match="nowhere"):
        write_page(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        write_page(bundle_of(("plain",), (0,)), tmp_path / "file" / "page.html")
