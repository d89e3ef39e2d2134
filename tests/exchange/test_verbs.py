"""The commands, end to end, and what an imported bundle refuses."""

import json

import pytest

from exchange.published import arrays, record, write_json, write_npz
from velocity_ledger.cli import main
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import cell_metadata, load_cell, open_bundle, vocabulary_of


def refused(words, capsys) -> str:
    assert main([str(w) for w in words]) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert captured.out == "" and line.startswith("velocity-ledger: error: ")
    return line


def test_export_prints_what_it_wrote_and_lost(synthetic, tmp_path, capsys):
    assert main(["export", str(synthetic()), "--out", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [str(tmp_path / "out" / f"velocity_ledger.{k}") for k in ("npz", "json")]
    assert "  null models: path_length, path_over_norm, straightness, turning_angle" in lines


def test_import_prints_the_table_and_what_it_did_not_understand(tmp_path, capsys):
    files = [write_npz(tmp_path / "a.npz", arrays()), write_json(tmp_path / "a.json", record())]
    out = tmp_path / "run"
    assert main(["import", *map(str, files), "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "127.80 (-)" in text and "12 cells, 241 arrays read" in text
    assert "  runs.*.blowup_ratio, in 12 runs" in text and "  config.device" in text
    assert "turn is taken in degrees" in text
    assert open_bundle(out).manifest["command"][:2] == ["velocity-ledger", "import"]


def test_mistakes_are_one_line(published, tmp_path, capsys):
    (tmp_path / "x.json").write_text("{}")
    assert "nothing to import" in refused(
        ["import", tmp_path / "x.json", "--out", tmp_path / "r"], capsys
    )
    assert "does not exist" in refused(
        ["import", tmp_path / "y.npz", "--out", tmp_path / "r"], capsys
    )
    assert not (tmp_path / "r").exists()
    assert "holds a run already" in refused(
        ["import", tmp_path / "x.json", "--out", published], capsys
    )
    assert "give the folder of a run" in refused(
        ["compare-bundles", published, tmp_path / "gone"], capsys
    )


def test_compare_bundles_as_text_and_json(synthetic, published, capsys):
    run = str(synthetic())
    assert main(["compare-bundles", run, run, "--check"]) == 0
    assert "bit for bit" in capsys.readouterr().out
    assert main(["compare-bundles", run, str(published), "--json"]) == 0

    def refuse(name):
        raise AssertionError(name)

    found = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert found["verdict"] == "different" and found["differ"]
    assert {v["a"] for v in found["variants"]} == {"plain", "ledger"}
    assert main(["compare-bundles", run, str(published), "--check"]) == 1


def test_an_imported_bundle_cannot_go_on(published, capsys):
    for more in ([], ["--preset", "smoke"]):
        line = refused(["compare", "--resume", "--out", published, *more], capsys)
        assert "was imported" in line and "without --resume" in line
    assert "holds a run already" in refused(
        ["compare", "--preset", "smoke", "--out", published], capsys
    )


def test_an_imported_bundle_has_no_weights(published):
    for read in (load_cell, cell_metadata):
        with pytest.raises(UserError, match="was imported from files and holds no weights"):
            read(published, "plain/0")
    with pytest.raises(UserError, match="was imported"):
        vocabulary_of(open_bundle(published))


def test_an_imported_bundle_gives_frames_a_tree_and_a_view(published, tmp_path):
    bundle = open_bundle(published)
    depth = bundle.to_dataframe("depth")
    assert len(depth) == 12 * 4 * 12 and {"step_length", "turning_angle"} <= set(depth.columns)
    lengths = depth[(depth.variant == "plain") & (depth.checkpoint == 12000)]
    assert lengths.groupby("seed").step_length.sum().mean() == pytest.approx(127.8)
    assert len(bundle.to_dataframe("validation")) == 12 * 48
    assert bundle.view()["val_loss"].sizes == {"variant": 4, "seed": 3, "validation": 48}
    assert len(bundle.tree.leaves) == 12
    bundle.to_csv(tmp_path / "cells.csv")


def test_an_imported_bundle_renders(published, tmp_path, capsys):
    words = ["render", str(published), "--out", str(tmp_path), "--formats", "png"]
    assert main(words) == 0
    assert {p.name for p in tmp_path.glob("*.png")} >= {"paths.png", "validation.png"}
