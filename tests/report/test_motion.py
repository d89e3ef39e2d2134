"""The moving pictures of a bundle: which, of what, for how long, and what they say."""

import functools
import json
import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from report.gifs import frames, taken_apart
from report.pages import Reader
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import open_bundle
from velocity_ledger.report import write_page
from velocity_ledger.report._data import facts
from velocity_ledger.report._style import style
from velocity_ledger.report.motion import (
    _one_step,
    _path_forming,
    _write,
    not_drawn,
    write_animations,
)
from velocity_ledger.report.motion._walk import walks

FLAT = {"geometry": "Flat()", "step_scale": "Fixed(h=1.0)"}
SPHERE = {"geometry": "Sphere(radius=None)", "step_scale": "Alpha(alpha=1.0, h=1.0)"}
BALL = {"momentum": "HeavyBall(mu=0.9, damped=True, debias=False)"}
AXES = {
    "plain": {"momentum": "Euler()", **FLAT},
    "ledger": BALL | FLAT,
    "ngpt-lite": {"momentum": "Euler()", **SPHERE},
    "ngpt-ledger": BALL | SPHERE,
}
NAMES = ("one_step.gif", "path_forming.gif")


def change(folder, f):
    """Let `f(dataset, variant)` make every cell's data anew."""
    for file in sorted(folder.glob("cells/*/*/data.nc")):
        with xr.open_dataset(file, engine="h5netcdf") as opened:
            data = opened.load()
        made = f(data, file.parts[-3])
        file.unlink()
        made.to_netcdf(file, engine="h5netcdf")


def with_directions(data, variant):
    """Inner products of random steps of the recorded lengths; a ledger's increments fit them."""
    rng = np.random.default_rng(len(variant))
    lengths = data["step_length"].mean("token").values.astype(np.float64)
    grams, others = [], []
    for row in lengths:
        steps = rng.normal(size=(len(row), 30)) + 0.2
        steps *= (row / np.linalg.norm(steps, axis=1))[:, None]
        pushes = steps
        if "ledger" in variant:
            before = np.vstack([np.zeros(30), steps[:-1]])
            pushes = (steps - 0.9 * before) / 0.1
        grams.append(steps @ steps.T)
        others.append(pushes @ steps.T)
    dims = ("checkpoint", "sub_update", "sub_update_2")
    return data.assign(
        step_gram=(dims, np.array(grams, np.float32)),
        increment_step_gram=(dims, np.array(others, np.float32)),
    )


def amend(folder, f):
    """Let `f(manifest)` change the manifest."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    f(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")


@pytest.fixture(scope="module")
def make(bundle_of, tmp_path_factory):
    """Return a maker of bundles whose manifests have axes and whose cells know directions.

    Each bundle is written once, and every caller gets a copy of its own.
    """

    @functools.cache
    def written(directions, given):
        arguments, options = pickle.loads(given)
        folder = bundle_of(*arguments, **options)

        def axes(manifest):
            for variant in manifest["variants"]:
                variant["axes"] = AXES.get(variant["text"].split("(")[0], {})

        amend(folder, axes)
        if directions:
            change(folder, with_directions)
        return folder

    def make(*arguments, directions=True, layers=2, **options):
        given = pickle.dumps((arguments, {"layers": layers, **options}))
        copy = tmp_path_factory.mktemp("copy") / "run"
        return shutil.copytree(written(directions, given), copy)

    return make


@pytest.fixture(scope="module")
def filmed(make):
    """A run of twelve cells and its pictures, drawn once at their full length."""
    folder = make(layers=6, checkpoints=(0, 60), validations=240)
    return folder, write_animations(open_bundle(folder), folder / "figures")


@pytest.fixture
def brief(monkeypatch):
    """Pictures of a few frames."""
    monkeypatch.setattr(_one_step, "_MOVING", 400)
    monkeypatch.setattr(_path_forming, "_MOVING", 250)


def scenes(folder):
    bundle = open_bundle(folder)
    found, _ = walks(bundle)
    with style():
        one = _one_step.Scene(found, facts(bundle))
        return one, _path_forming.Scene(found, facts(bundle))


def words(scene):
    """All that a picture says, as it stands."""
    texts = [t.get_text() for t in scene.stage._axes.texts if t.get_visible()]
    return " ".join(text for text in texts if text)


def chosen(folder):
    return [(walk.variant.text, walk.seed) for walk in walks(open_bundle(folder))[0]]


# ----------------------------------------------------------------- the files


def test_both_pictures_of_a_run(filmed):
    folder, written = filmed
    assert written == [folder / "figures" / name for name in NAMES]
    for path, moving, hold in zip(written, (9000, 8000), (2200, 2200), strict=True):
        gif = taken_apart(path)
        assert gif.loop == 0 and gif.own_palettes == 0
        total = sum(gif.delays)
        assert moving + 2000 < total < 13_000
        assert gif.delays[-1] >= hold
        # At most 20 frames a second, and no pause but the first frame and the last.
        assert min(gif.delays) == 50 and len(gif.places) > 100
        assert max(gif.delays[1:-1]) <= 400
        width, height = gif.size
        assert 800 <= width <= 900 and 400 < height < 1100
        assert gif.places[0] == (0, 0, width, height)
        assert all(x + w <= width and y + h <= height for x, y, w, h in gif.places)
        assert path.stat().st_size < 1_500_000
        shown = frames(path)
        assert {frame.shape for frame in shown} == {(height, width, 3)}
        codes = [f.astype(np.int32) @ np.array([65536, 256, 1]) for f in shown[::40]]
        assert len(np.unique(codes)) < 256
        # No noise where nothing is: the corners stay white.
        for frame in shown:
            assert (frame[:6] == 255).all() and (frame[:, :20] == 255).all()
            assert (frame[:, -6:] == 255).all()


def test_a_page_with_its_films_is_below_eight_megabytes(filmed, monkeypatch):
    path, films = filmed
    for cell in path.glob("cells/*/*"):
        record = {"prompt": "ROMEO:\n", "text": "To be, or not to be. " * 100, "step": 1}
        (cell / "sample.json").write_text(json.dumps(record), encoding="utf-8")
    assert len(open_bundle(path).cells) == 12
    # They are those that were drawn.
    monkeypatch.setattr(_write, "_draw", None)
    assert write_page(path) == path / "report.html"
    size = (path / "report.html").stat().st_size
    assert sum(4 * film.stat().st_size // 3 for film in films) < size < 8_000_000
    assert all(film.stat().st_size > 100_000 for film in films)
    read = Reader((path / "report.html").read_text(encoding="utf-8"))
    assert len([i for i in read.named("img") if i["src"].startswith("data:image/gif")]) == 2
    assert all(len(i["alt"]) > 40 for i in read.named("img"))
    assert {p.name for p in path.iterdir()} == {"manifest.json", "cells", "figures", "report.html"}


def test_times_are_those_that_are_written(make, tmp_path, brief):
    folder = make(("plain", "ledger"), (0,))
    expected = [sum(scene.times) for scene in scenes(folder)]
    written = write_animations(open_bundle(folder), tmp_path)
    assert [sum(taken_apart(path).delays) for path in written] == expected
    assert {taken_apart(path).delays[-1] for path in written} == {2200}


def test_the_same_bundle_gives_the_same_bytes(make, tmp_path, brief):
    folder = make(seeds=(0,))
    first = [p.read_bytes() for p in write_animations(open_bundle(folder), tmp_path / "a")]
    (tmp_path / "matplotlibrc").write_text("font.size: 30\nlines.linewidth: 9\nbackend: TkAgg\n")
    code = (
        "import sys, pathlib\n"
        "from velocity_ledger.experiment import open_bundle\n"
        "from velocity_ledger.report.motion import _one_step, _path_forming, write_animations\n"
        "_one_step._MOVING, _path_forming._MOVING = 400, 250\n"
        "write_animations(open_bundle(sys.argv[1]), pathlib.Path(sys.argv[2]))\n"
        "print([m for m in ('matplotlib.pyplot', 'tkinter') if m in sys.modules])"
    )
    environment = {k: v for k, v in os.environ.items() if k != "DISPLAY"}
    environment |= {
        "MATPLOTLIBRC": str(tmp_path / "matplotlibrc"),
        "PYTHONHASHSEED": "77",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    line = [sys.executable, "-c", code, str(folder), str(tmp_path / "b")]
    done = subprocess.run(line, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
    assert [(tmp_path / "b" / name).read_bytes() for name in NAMES] == first


def test_a_path_that_does_not_change_is_shown_for_as_long(make, tmp_path, brief):
    folder = make(("plain", "ledger"), (0,))

    def still(data, variant):
        del variant
        first = data.isel(checkpoint=0)
        for name in data.data_vars:
            if "checkpoint" in data[name].dims:
                data[name][:] = first[name]
        return data

    change(folder, still)
    written = write_animations(open_bundle(folder), tmp_path)
    assert [sum(taken_apart(path).delays) for path in written] == [
        sum(scene.times) for scene in scenes(folder)
    ]


def test_nothing_measured_writes_nothing(bundle_of, tmp_path):
    bundle = open_bundle(bundle_of(("plain",), (0,), validations=0, checkpoints=()))
    assert write_animations(bundle, tmp_path / "out") == [] and not_drawn(bundle) == {}
    assert not (tmp_path / "out").exists()


def test_one_measured_step_forms_no_path(make, tmp_path, brief):
    bundle = open_bundle(make(("plain", "ledger"), (0,), checkpoints=(0,), validations=0))
    assert [p.name for p in write_animations(bundle, tmp_path)] == ["one_step.gif"]
    assert "two training steps" in not_drawn(bundle)["path_forming.gif"]


def test_a_place_that_cannot_be_written_is_refused(make, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        write_animations(open_bundle(make(seeds=(0,))), tmp_path / "file")


# ------------------------------------------------------- which cells are shown


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("plain", "ledger", "ngpt-lite", "ngpt-ledger"), ["plain", "ledger"]),
        (("ngpt-ledger", "ngpt-lite", "ledger", "plain"), ["plain", "ledger"]),
        (("ngpt-lite", "ngpt-ledger"), ["ngpt-lite", "ngpt-ledger"]),
        (("ledger", "ngpt-ledger"), ["ledger", "ngpt-ledger"]),
        (("ngpt-lite", "plain"), ["ngpt-lite", "plain"]),
        (("ledger",), ["ledger"]),
    ],
)
def test_plain_and_ledger_or_the_reference_and_the_next(make, given, expected):
    assert [text for text, _ in chosen(make(given, (0,), directions=False))] == expected


def test_the_lowest_seed_that_both_have(make):
    folder = make(("plain", "ledger"), (2, 1, 3), directions=False)
    assert chosen(folder) == [("plain", 1), ("ledger", 1)]
    shutil.rmtree(folder / "cells" / "ledger" / "1")
    assert chosen(folder) == [("plain", 2), ("ledger", 2)]
    for seed in (2, 3):
        shutil.rmtree(folder / "cells" / "ledger" / str(seed))
    assert chosen(folder) == [("plain", 1)]


def test_what_cannot_be_drawn_is_left_out_and_said(make, tmp_path, brief):
    folder = make(("plain", "ledger", "ngpt-lite"), (0,), directions=False)

    def without(data, variant):
        if variant == "plain":
            return data.drop_vars("turning_angle")
        if variant == "ledger":
            return data.assign(step_length=data["step_length"] * np.nan)
        return data

    change(folder, without)
    bundle = open_bundle(folder)
    assert chosen(folder) == [("ngpt-lite", 0)]
    reasons = not_drawn(bundle)
    assert "neither directions nor turning angles" in reasons["plain"]
    assert "not finite" in reasons["ledger"]
    assert len(write_animations(bundle, tmp_path)) == 2
    change(folder, lambda data, _: data.drop_vars("step_length"))
    bundle = open_bundle(folder)
    assert write_animations(bundle, tmp_path / "none") == []
    assert set(not_drawn(bundle)) == {"plain", "ledger", "ngpt-lite"}


def test_a_step_that_is_not_finite_is_passed_over(make):
    folder = make(("plain", "ledger"), (0,), directions=False)

    def broken(data, variant):
        if variant == "ledger":
            data["step_length"][-1] = np.inf
        return data

    change(folder, broken)
    plain, ledger = walks(open_bundle(folder))[0]
    assert (plain.last, ledger.last) == (600, 60)
    assert _path_forming.common_steps([plain, ledger]) == [0, 60]


# --------------------------------------------------------- what is in the picture


def test_a_path_is_where_its_inner_products_say(make):
    folder = make(("plain", "ledger"), (0,))
    with xr.open_dataset(folder / "cells/ledger/0/data.nc", engine="h5netcdf") as opened:
        gram = opened["step_gram"].values[-1].astype(np.float64)
    walk = walks(open_bundle(folder))[0][1]
    placed = walk.placed(600)
    # Nothing in the plane is longer than it is, and the axes with most variance come first.
    seen = np.linalg.norm(np.diff(placed.points, axis=0), axis=1)
    assert (seen <= np.sqrt(np.diagonal(gram)) + 1e-6).all()
    assert placed.length == pytest.approx(seen.sum() / np.sqrt(np.diagonal(gram)).sum())
    # v' = 0.9 v + 0.1 f holds in the plane, as it does in the stream.
    v = walk.rule.velocities(np.diff(placed.points, axis=0))
    f = walk.increments(placed, 600)
    assert v is not None and f is not None
    before = np.vstack([np.zeros(2), v[:-1]])
    np.testing.assert_allclose(v, 0.9 * before + 0.1 * f, atol=1e-4)


def test_points_arrows_and_counters_of_one_step(make):
    one, _ = scenes(make(("plain", "ledger"), (0,)))
    plain, ledger = one.rows
    for row, walk in zip(one.rows, one.walks, strict=True):
        lengths = walk.looks[600].lengths
        for index in range(one.depth):
            one.show(index, 1.0)
            at = np.ravel(row._point.get_data())
            np.testing.assert_allclose(at, row._points[index + 1], atol=1e-6)
            assert row._length.get_text() == f"path {lengths[: index + 1].sum():.1f}"
        np.testing.assert_allclose(row._points, one.scale * walk.placed(600).points * [1, -1]
                                   + row._points[0])  # fmt: skip
    one.show(1, 0.65)  # Folded, not yet followed.
    tip = ledger._push._patch.get_xy()[3]
    np.testing.assert_allclose(tip, ledger._points[1] + ledger._velocities[1], atol=1e-6)
    np.testing.assert_allclose(ledger._own._patch.get_xy()[3], tip, atol=1e-6)
    np.testing.assert_allclose(plain._push._patch.get_xy()[3], plain._points[2], atol=1e-6)
    assert f"turns {one.walks[1].looks[600].angles[1]:.0f}°" in words(one)


def test_the_forming_path_ends_where_it_was_measured(make):
    _, forming = scenes(make(("plain", "ledger"), (0,)))
    moments = forming._moments
    assert moments[0] == 0 and moments[-1] == 600 and (np.diff(moments) > 0).all()
    for k, step in ((0, 0), (-1, 600)):
        for walk, paths, panel in zip(forming.walks, forming._paths, forming.panels, strict=True):
            forming.show(k % len(moments))
            shown = np.array(panel._trail.get_data()).T
            expected = walk.placed(step).points * forming.scale
            np.testing.assert_allclose(
                np.linalg.norm(shown[:, None] - shown[None], axis=-1),
                np.linalg.norm(expected[:, None] - expected[None], axis=-1),
                atol=1e-6,
            )
            np.testing.assert_allclose(shown[0], panel._origin, atol=1e-6)
            assert paths[k].points.shape == (5, 2)
        for name, walk in zip(("plain", "ledger"), forming.walks, strict=True):
            value = walk.looks[step].numbers["path_length"]
            assert f"{value:.1f}" in words(forming) or f"{value:.0f}" in words(forming), name


def test_paths_stay_inside_their_panels_and_do_not_jump(make):
    folder = make(("plain", "ledger"), (0,), layers=6, checkpoints=(0, 5, 10, 600))
    _, forming = scenes(folder)
    for panel, paths in zip(forming.panels, forming._paths, strict=True):
        shown = np.array([panel._origin + p.points * forming.scale * [1, -1] for p in paths])
        assert shown[..., 0].min() > 30 and shown[..., 0].max() < 835
        assert shown[..., 1].min() > 200
        # Independent random paths turn far more from one to the next than trained ones do.
        jumps = np.linalg.norm(np.diff(shown, axis=0), axis=-1)
        assert jumps.max() < 60


def test_interpolation_stands_between_its_neighbours():
    assert _path_forming.between([0, 10, 40], 0.0) == (0, 10, 0.0)
    assert _path_forming.between([0, 10, 40], 10.0) == (10, 40, 0.0)
    assert _path_forming.between([0, 10, 40], 25.0) == (10, 40, 0.5)
    assert _path_forming.between([0, 10, 40], 40.0) == (10, 40, 1.0)


@pytest.mark.parametrize("depth", [1, 2, 3, 12, 24, 400])
def test_a_schedule_of_any_depth(depth):
    times = _one_step.schedule(depth)
    assert len(times) == depth + 1 and times[0] == 0 and (np.diff(times) > 0).all()
    assert times[-1] <= 9000 and times[-1] % 50 == pytest.approx(0)
    if depth >= 12:
        assert times[-1] == 9000


def test_the_small_print_says_where_the_plane_comes_from(make):
    one, forming = scenes(make(("plain", "ledger"), (4, 5)))
    for scene in (one, forming):
        said = words(scene)
        assert "two main axes, fitted to the recorded states" in said
        assert "seed 4 of 2 seeds, 16 tokens together" in said
        assert "of the variance" in said and "nan" not in said.lower()
    assert "Interpolated between the measured steps 0, 60 and 600" in words(forming)
    assert "Null model" in words(forming)
    for equation in ("x ← x + f", "v ← 0.9 v + 0.1 f,   x ← x + v"):
        assert equation in words(one) and equation in words(forming)
    assert "Path / final norm: plain" in words(one)


def test_without_directions_the_picture_says_so(make):
    one, forming = scenes(make(("plain", "ledger"), (0,), directions=False))
    for scene in (one, forming):
        said = words(scene)
        assert "Directions were not recorded" in said and "laid out" in said
        assert "two main axes" not in said and "variance" not in said
    assert one.rows[1]._pushes is None and "(not recorded)" in words(one)
    one.show(1, 0.5)
    assert not one.rows[1]._push._patch.get_visible()
    for walk in one.walks:
        look = walk.looks[600]
        steps = np.diff(walk.placed(600).points, axis=0)
        np.testing.assert_allclose(np.linalg.norm(steps, axis=1), look.lengths, rtol=1e-9)


def test_means_alone_are_enough(make, tmp_path, brief):
    """A published run: no tokens, no axes, no null models but what the table asks for."""
    folder = make(("plain", "ledger"), (0,), directions=False)

    def published(data, variant):
        del variant
        kept = data[["step_length", "turning_angle", "stream_norm"]].mean("token")
        return kept.merge(data[[n for n in data.data_vars if "token" not in data[n].dims]])

    before = [walk.looks[600].numbers["path_length"] for walk in walks(open_bundle(folder))[0]]
    change(folder, published)
    amend(folder, lambda m: [v.pop("axes") for v in m["variants"]])
    found, reasons = walks(open_bundle(folder))
    assert reasons == {} and [w.rule.kind for w in found] == ["plain", "ledger"]
    after = [walk.looks[600].numbers["path_length"] for walk in found]
    np.testing.assert_allclose(after, before, rtol=1e-5)
    assert found[0].tokens is None and "path_over_norm" not in found[0].looks[600].numbers
    assert "tokens together" not in words(scenes(folder)[0])
    assert len(write_animations(open_bundle(folder), tmp_path)) == 2


@pytest.mark.parametrize("layers", [1, 30])
def test_any_depth_and_hostile_names(make, tmp_path, brief, layers):
    names = ("plain(h=$0.5$)", 'lib/$x^{2}$ <b>"é".py:Longest(name_of_an_integrator=0.123456789)')
    folder = make(names, (0,), layers=layers)
    written = write_animations(open_bundle(folder), tmp_path)
    assert len(written) == 2
    one, _ = scenes(folder)
    assert one.depth == 2 * layers


def test_a_path_of_no_length_is_drawn(make, tmp_path, brief):
    """A damped ledger with mu = 1 never leaves the start."""
    folder = make(("plain", "ledger"), (0,))

    def stay(data, variant):
        del variant
        for name in ("step_length", "step_gram", "increment_step_gram", "path_length"):
            data[name] = 0 * data[name]
        return data.assign(turning_angle=data["turning_angle"] * np.nan)

    change(folder, stay)
    written = write_animations(open_bundle(folder), tmp_path)
    assert [p.name for p in written] == list(NAMES)
