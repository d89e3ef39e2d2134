"""Moving pictures that were drawn before: shown again only where they are the same."""

import io
import shutil

import numpy as np
import pytest
import xarray as xr
from PIL import Image

from velocity_ledger.experiment import _json, open_bundle
from velocity_ledger.report import render, write_page
from velocity_ledger.report.motion import (
    _one_step,
    _path_forming,
    _seal,
    _write,
    write_animations,
)
from velocity_ledger.report.motion._seal import fingerprint, is_sealed, sealed

NAMES = ["one_step.gif", "path_forming.gif"]


def gif(first: int = 0) -> bytes:
    buffer = io.BytesIO()
    frames = [Image.new("L", (8, 8), 20 * shade + first) for shade in (0, 1, 2)]
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:], duration=50, loop=0)
    return buffer.getvalue()


@pytest.fixture
def drawn(monkeypatch):
    """The names of the pictures that are drawn from now on: tiny ones, which differ by data."""
    names = []

    def draw(path, make, colours, drawn_from):
        names.append(path.name)
        path.write_bytes(sealed(gif(drawn_from[0] % 20), drawn_from))

    monkeypatch.setattr(_write, "_draw", draw)
    return names


def test_a_sealed_gif_is_the_same_picture():
    plain = gif()
    marked = sealed(plain, b"data")
    assert is_sealed(marked, b"data") and marked.startswith(plain[:-1])
    with Image.open(io.BytesIO(plain)) as a, Image.open(io.BytesIO(marked)) as b:
        assert getattr(a, "n_frames", 1) == getattr(b, "n_frames", 1) == 3 and b.info["loop"] == 0
        for k in range(3):
            a.seek(k)
            b.seek(k)
            assert (np.array(a) == np.array(b)).all() and a.info["duration"] == b.info["duration"]


def test_a_seal_is_broken_by_other_data_and_by_any_other_byte():
    marked = sealed(gif(), b"data")
    assert not is_sealed(marked, b"other")
    for k in range(len(marked)):
        changed = bytearray(marked)
        changed[k] ^= 1
        assert not is_sealed(bytes(changed), b"data"), k
    for wrong in (b"", gif(), marked[:-1], marked[1:], marked + b";", marked[-20:]):
        assert not is_sealed(wrong, b"data")


def test_every_part_of_a_value_is_in_its_fingerprint():
    data = xr.Dataset({"a": ("x", [1.0, np.nan])}, coords={"x": [0, 1]})
    values = [
        None, 0, 1, True, 1.0, "1", b"1", "", [], [1], [[1]], [1, 1], {1: 1}, {1: [1]}, {},
        np.zeros(2), np.zeros(2, np.float32), np.zeros((2, 1)), np.array([0, 1.0]),
        np.array(["a"]), np.array(["b"], object), data, data.rename(a="b"), data + 1,
        data.assign_coords(x=[0, 2]), data.rename(x="y"), Image.__name__,
    ]  # fmt: skip
    prints = [fingerprint(value) for value in values]
    assert len(set(prints)) == len(prints)
    assert prints == [fingerprint(value) for value in values]
    with pytest.raises(TypeError, match="object"):
        fingerprint(object())


def test_another_program_has_another_fingerprint(monkeypatch):
    before = fingerprint("data")
    monkeypatch.setattr(_seal, "_program", lambda: b"another")
    assert fingerprint("data") != before


def test_the_page_takes_the_pictures_that_render_left(bundle_of, tmp_path, monkeypatch):
    monkeypatch.setattr(_one_step, "_MOVING", 150)
    monkeypatch.setattr(_path_forming, "_MOVING", 100)
    folder = bundle_of(("plain", "ledger"), (0,), layers=2)
    alone = write_page(folder, tmp_path / "alone.html").read_bytes()
    assert len(render(folder, formats=("gif",))) == 2
    monkeypatch.setattr(_write, "_draw", None)
    assert write_page(folder, tmp_path / "after.html").read_bytes() == alone


def test_a_moved_bundle_keeps_its_pictures(bundle_of, drawn, tmp_path):
    folder = bundle_of(("plain", "ledger"), (0,), layers=2)
    render(folder, formats=("gif",))
    shutil.copytree(folder, tmp_path / "elsewhere")
    write_page(tmp_path / "elsewhere")
    assert drawn == NAMES
    # `render` itself always draws.
    render(folder, formats=("gif",))
    assert drawn == NAMES * 2


def longer(folder):
    file = folder / "cells" / "ledger" / "0" / "data.nc"
    data = xr.load_dataset(file, engine="h5netcdf")
    data["step_length"][-1] *= 2
    data.to_netcdf(file, engine="h5netcdf")


def renamed(folder):
    manifest = _json.loads((folder / "manifest.json").read_text())
    manifest["variants"][1]["axes"] = {"momentum": "HeavyBall(mu=0.5)"}
    (folder / "manifest.json").write_text(_json.dumps(manifest))


def cut(folder):
    for name in NAMES:
        file = folder / "figures" / name
        file.write_bytes(file.read_bytes()[:-200])


def swapped(folder):
    a, b = (folder / "figures" / name for name in NAMES)
    whole = a.read_bytes(), b.read_bytes()
    b.write_bytes(whole[0])
    a.write_bytes(whole[1])


def gone(folder):
    for name in NAMES:
        (folder / "figures" / name).unlink()
        (folder / "figures" / name).mkdir()


@pytest.mark.parametrize("change", [longer, renamed, cut, swapped, gone], ids=lambda f: f.__name__)
def test_others_are_drawn_anew(bundle_of, drawn, tmp_path, change):
    folder = bundle_of(("plain", "ledger"), (0,), layers=2)
    render(folder, formats=("gif",))
    change(folder)
    shown = write_page(folder, tmp_path / "page.html").read_bytes()
    assert drawn == NAMES * 2
    shutil.rmtree(folder / "figures")
    assert write_page(folder, tmp_path / "again.html").read_bytes() == shown


def test_what_a_run_measures_later_is_drawn(bundle_of, drawn, tmp_path):
    folder = bundle_of(("plain", "ledger"), (0,), layers=2, checkpoints=(0, 60))
    write_animations(open_bundle(folder), folder / "figures")
    later = bundle_of(("plain", "ledger"), (0,), layers=2, checkpoints=(0, 60, 600))
    write_animations(open_bundle(later), tmp_path, kept=folder / "figures")
    assert drawn == NAMES * 2
