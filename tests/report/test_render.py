"""Figures from a bundle alone: what is written, and that the same bundle gives the same bytes."""

import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from velocity_ledger.errors import UserError
from velocity_ledger.report import _render, render

NAMES = ("validation", "paths", "turning", "steps")
STILL = ("png", "svg")
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "render_velocity_ledger_gifs.py"


def test_all_figures_in_both_still_formats(bundle_of):
    bundle = bundle_of()
    written = render(bundle, formats=STILL)
    assert written == [bundle / "figures" / f"{name}.{kind}" for name in NAMES for kind in STILL]
    for path in written:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
        else:
            root = ElementTree.parse(path).getroot()
            assert root.tag.endswith("svg")
            # What a screen reader reads.
            (title,) = [e.text for e in root if e.tag.endswith("title")]
            assert (title is not None and "through depth" in title) or path.stem == "validation"
    assert {p.name for p in (bundle / "figures").iterdir()} == {p.name for p in written}


def test_the_same_bundle_gives_the_same_bytes(bundle_of, tmp_path):
    bundle = bundle_of(("plain", "ledger"), (0, 1), validations=3, layers=2)
    first = {p.name: p.read_bytes() for p in render(bundle, tmp_path / "a", STILL)}
    # In another process, whose hashes are salted otherwise and whose reader prefers another look.
    shutil.copytree(bundle, tmp_path / "copy")
    (tmp_path / "matplotlibrc").write_text("font.size: 30\nlines.linewidth: 9\nbackend: TkAgg\n")
    code = (
        "import sys; from velocity_ledger.report import render; "
        "render(*sys.argv[1:], formats=('png', 'svg'))"
    )
    environment = {k: v for k, v in os.environ.items() if k != "DISPLAY"}
    environment |= {
        "MPLBACKEND": "TkAgg",
        "MATPLOTLIBRC": str(tmp_path / "matplotlibrc"),
        "PYTHONHASHSEED": "77",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "SOURCE_DATE_EPOCH": "1",
    }
    words = [sys.executable, "-c", code, str(tmp_path / "copy"), str(tmp_path / "b")]
    subprocess.run(words, env=environment, check=True)
    second = {p.name: p.read_bytes() for p in (tmp_path / "b").iterdir()}
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_pyplot_and_jax_are_not_imported(bundle_of, tmp_path):
    code = (
        "import sys; from velocity_ledger.report import render; "
        "from velocity_ledger.report.motion import write_animations; "
        "render(*sys.argv[1:], formats=('svg',)); "
        "print([m for m in ('matplotlib.pyplot', 'tkinter', 'jax') if m in sys.modules])"
    )
    bundle = bundle_of(("plain", "ledger"), (0,), validations=2, layers=1)
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-c", code, str(bundle), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_a_chosen_folder_and_format(bundle_of, tmp_path):
    bundle = bundle_of(("ledger",), (3,))
    assert render(bundle, tmp_path / "x" / "y", ("svg", "svg")) == [
        tmp_path / "x" / "y" / f"{name}.svg" for name in NAMES
    ]
    assert not (bundle / "figures").exists()


def test_animations_are_written_where_they_are_asked_for(bundle_of, tmp_path, monkeypatch):
    def write(bundle, folder):
        (folder / "some.gif").write_bytes(b"GIF89a")
        return [folder / "some.gif"]

    monkeypatch.setattr(_render, "write_animations", write)
    bundle = bundle_of(("ledger",), (3,))
    assert render(bundle, tmp_path, ("gif",)) == [tmp_path / "some.gif"]
    assert [path.name for path in tmp_path.iterdir()] == ["some.gif"]
    assert render(bundle, formats=("gif", "png"))[-1] == bundle / "figures" / "some.gif"


def test_nothing_to_animate_is_said(bundle_of, tmp_path):
    bundle = bundle_of(("plain",), (0,), checkpoints=())
    with pytest.raises(UserError, match="nothing that gif can show"):
        render(bundle, tmp_path / "out", ("gif",))
    assert len(render(bundle)) == 2


def test_nothing_measured_yet_is_said(bundle_of, tmp_path):
    bundle = bundle_of(("plain",), (0,), validations=0, checkpoints=())
    for formats in (STILL, ("gif",), ("png", "svg", "gif")):
        with pytest.raises(UserError, match="no measurements to draw"):
            render(bundle, tmp_path / "out", formats)
    assert not (tmp_path / "out").exists()


def test_a_run_just_begun_is_drawn_as_far_as_it_got(bundle_of):
    bundle = bundle_of(("plain", "ledger"), (0, 1), validations=0, checkpoints=(0,))
    assert {path.stem for path in render(bundle, formats=STILL)} == {"paths", "turning", "steps"}


def test_a_diverged_cell_and_one_validation_are_drawn(bundle_of):
    diverged = bundle_of(("plain", "ledger"), (0, 1), diverged=True)
    assert len(render(diverged, formats=("svg",))) == 4
    once = bundle_of(("plain", "ledger"), (0,), validations=1)
    assert len(render(once, formats=("svg",))) == 4


def test_missing_cells_of_some_variants_are_left_out(bundle_of):
    bundle = bundle_of(("plain", "ledger", "ngpt-lite"), (0, 1))
    shutil.rmtree(bundle / "cells" / "plain")  # The reference of the differences.
    shutil.rmtree(bundle / "cells" / "ledger" / "1")
    assert len(render(bundle, formats=("svg",))) == 4


@pytest.mark.parametrize("formats", [("webp",), ("png", "jpeg"), ()])
def test_an_unknown_format_is_refused(bundle_of, formats):
    with pytest.raises(UserError, match="a format is one of png, svg, gif"):
        render(bundle_of(("plain",), (0,)), formats=formats)


def test_no_bundle_and_no_place_to_write_are_refused(bundle_of, tmp_path):
    with pytest.raises(UserError, match="nowhere"):
        render(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        render(bundle_of(("plain",), (0,)), tmp_path / "file")


def test_the_article_s_script_is_render(bundle_of, tmp_path, monkeypatch, capsys):
    seen = []
    monkeypatch.setattr("velocity_ledger.cli.run", lambda: seen.append(sys.argv[1:]))
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "runs/paper", "--out", "figures"])
    monkeypatch.setattr(sys, "path", [str(SCRIPT.parent), *sys.path])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert seen == [["render", "runs/paper", "--out", "figures"]]
    assert str(SCRIPT.parent) not in sys.path
