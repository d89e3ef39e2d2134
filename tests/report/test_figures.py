"""What the figures show is what the bundle holds, and no text lies on another."""

import itertools
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Annotation, Text

from velocity_ledger.experiment import open_bundle, summary
from velocity_ledger.report._data import variants
from velocity_ledger.report._depth import depth_figure
from velocity_ledger.report._paths import paths_figure
from velocity_ledger.report._style import look, short, style
from velocity_ledger.report._validation import validation_figure

EIGHT = (
    "plain",
    "ledger",
    "ngpt-lite",
    "ngpt-ledger",
    "ledger(mu=0.95)",
    "ledger(mu=0.5)",
    "./mine.py:Mine(h=0.30000000000000004)",
    "compose(heavy_ball(mu=0.9), flat(), fixed(h=1.0))",
)


def figures(bundle) -> Any:
    """The measured variants, and the three figures drawn."""
    found = variants(open_bundle(bundle))
    with style():
        made = (
            validation_figure(found, "character"),
            paths_figure(found),
            depth_figure(found, 12),
        )
        for figure in made:
            assert figure is not None
            figure.canvas.draw()
    return found, made


def texts(figure):
    """Visible texts with the boxes that they fill."""
    renderer = figure.canvas.get_renderer()
    out_of_view = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                if not low <= tick.get_loc() <= high:
                    out_of_view |= {tick.label1, tick.label2}
    found = []
    for text in figure.findobj(Text):
        if text in out_of_view or not (text.get_visible() and text.get_text().strip()):
            continue
        # Of an annotation, the text without its line.
        box = (
            Text.get_window_extent(text, renderer)
            if isinstance(text, Annotation)
            else text.get_window_extent(renderer)
        )
        found.append((text.get_text(), box))
    return found


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_no_text_overlaps_another_or_leaves_the_page(bundle_of, count):
    _, made = figures(bundle_of(EIGHT[:count], (0, 1) if count > 1 else (5,)))
    for figure in made:
        page = figure.bbox
        shown = texts(figure)
        assert len(shown) > 10
        for name, box in shown:
            assert box.x0 >= page.x0 and box.x1 <= page.x1, name
            assert box.y0 >= page.y0 and box.y1 <= page.y1, name
        for (a, first), (b, second) in itertools.combinations(shown, 2):
            width = min(first.x1, second.x1) - max(first.x0, second.x0)
            height = min(first.y1, second.y1) - max(first.y0, second.y0)
            assert not (width > 1 and height > 1), (a, b)


def test_the_curves_are_the_bundle_s(bundle_of):
    found, (validation, _, _) = figures(bundle_of(("plain", "ledger"), (0, 1)))
    upper, lower = validation.axes
    plain, ledger = found
    curves = [plain.curves(), ledger.curves()]
    drawn = [line.get_ydata() for line in upper.get_lines()]
    for by_seed in curves:
        mean = np.mean([c.loss for c in by_seed.values()], 0)
        for wanted in (*(c.loss for c in by_seed.values()), mean):
            assert any(len(y) == len(wanted) and np.array_equal(y, wanted) for y in drawn)
        for curve in by_seed.values():
            best = [float(curve.loss.min())]
            assert any(len(y) == 1 and np.array_equal(y, best) for y in drawn)
    difference = np.mean([curves[1][s].loss - curves[0][s].loss for s in (0, 1)], 0)
    assert any(
        len(y) == len(difference) and np.allclose(y, difference, rtol=0, atol=1e-12)
        for y in (line.get_ydata() for line in lower.get_lines())
    )
    assert "nats per character" in (upper.get_ylabel(), lower.get_ylabel())


def test_the_profiles_are_the_last_checkpoint_s_with_the_first_faint(bundle_of):
    found, (_, _, depth) = figures(bundle_of(("plain",), (0, 1)))
    step, so_far, turn = depth.axes
    assert (found[0].checkpoint, step.get_ylabel()) == (600, "units of the\nresidual stream")
    assert turn.get_ylabel() == "degrees"
    data = list(found[0].cells.values())
    for axes, name, made_of in (
        (step, "step_length", np.asarray),
        (so_far, "step_length", np.cumsum),
        (turn, "turning_angle", np.asarray),
    ):
        for checkpoint, faint in ((600, False), (0, True)):
            wanted = made_of(
                np.mean([d[name].sel(checkpoint=checkpoint).mean("token") for d in data], 0)
            )
            lines = [
                line
                for line in axes.get_lines()
                if len(line.get_ydata()) == 12
                and np.allclose(line.get_ydata(), wanted, rtol=1e-5, equal_nan=True)
            ]
            assert [line.get_alpha() is not None for line in lines] == [faint], (name, checkpoint)
    # Attention first, filled; then the MLP, open.
    marks = {line.get_marker(): line for line in step.get_lines() if line.get_marker() in "os"}
    assert list(marks["o"].get_xdata()) == [1, 3, 5, 7, 9, 11]
    assert list(marks["s"].get_xdata()) == [2, 4, 6, 8, 10, 12]
    assert marks["s"].get_markerfacecolor() == "white" != marks["o"].get_markerfacecolor()


def test_another_number_of_sub_updates_claims_no_attention(bundle_of):
    _, (_, _, depth) = figures(bundle_of(("plain",), (0,), layers=4))
    assert not any(line.get_marker() in ("o", "s") for line in depth.axes[0].get_lines())


def test_the_path_is_beside_its_null(bundle_of):
    found, (_, paths, _) = figures(bundle_of(("plain", "ledger"), (0, 1)))
    rows = [variant.summaries(600) for variant in found]
    names = ("path_length", "path_over_norm", "turning_angle", "straightness")
    for axes, quantity in zip(paths.axes, names, strict=True):
        for place, summaries in enumerate(rows):
            for marker, name in (("o", quantity), ("D", f"null_{quantity}")):
                wanted = np.mean([row[name] for row in summaries])
                (line,) = [
                    line
                    for line in axes.get_lines()
                    if line.get_marker() == marker and list(line.get_ydata()) == [place]
                ]
                assert line.get_xdata()[0] == pytest.approx(wanted)


def test_figures_and_table_show_the_same_cells_at_the_same_checkpoint(bundle_of):
    bundle = bundle_of(
        ("plain", "ledger"),
        (0, 1, 2),
        states={("ledger", 0): "diverged", ("plain", 2): "interrupted"},
        measured={("ledger", 1): (0, 60), ("ledger", 0): (0, 60, 900)},
    )
    found, (validation, paths, depth) = figures(bundle)
    rows = summary(open_bundle(bundle))
    assert [(v.text, tuple(v.cells)) for v in found] == [("plain", (0, 1)), ("ledger", (1, 2))]
    assert [v.checkpoint for v in found] == [row.checkpoint for row in rows] == [600, 60]
    for place, row in enumerate(rows):
        (dot,) = [
            line
            for line in paths.axes[0].get_lines()
            if line.get_marker() == "o" and list(line.get_ydata()) == [place]
        ]
        assert dot.get_xdata()[0] == pytest.approx(row.path_length)
    # A thin line a seed and a thick one.
    curves = [line for line in validation.axes[0].get_lines() if len(line.get_xdata()) == 12]
    assert len(curves) == 6
    for figure in (validation, paths, depth):
        assert any("without 2 diverged or unfinished cells" in text for text, _ in texts(figure))


def test_a_variant_that_diverged_everywhere_is_no_rival(bundle_of):
    found, (validation, _, _) = figures(bundle_of(("plain", "ledger"), (0, 1), diverged=True))
    assert [v.diverged for v in found] == [False, True]
    assert len(validation.axes) == 1


def test_seeds_that_share_no_step_have_no_mean(bundle_of):
    validated = {0: (250, 500), 1: (100,)}
    _, (validation, _, _) = figures(bundle_of(("plain", "ledger"), (0, 1), validated=validated))
    upper, lower = validation.axes
    assert sorted(len(line.get_xdata()) for line in upper.get_lines()) == [1] * 6 + [2, 2]
    # The line at zero and two seeds, thin.
    assert sorted(len(line.get_xdata()) for line in lower.get_lines()) == [1, 2, 2]
    for axes in (upper, lower):
        assert not any("ledger" in a.get_text() for a in axes.findobj(Annotation))


def test_the_first_eight_looks_differ_in_colour_and_line_and_the_next_in_their_pair():
    looks = [look(index) for index in range(8)]
    assert len({one.colour for one in looks}) == len({one.dashes for one in looks}) == 8
    assert len({look(index) for index in range(72)}) == 72


@pytest.mark.parametrize("text", ["ledger", "x" * 30, "x" * 31, EIGHT[-1]])
def test_a_short_name_keeps_both_ends(text):
    name = short(text)
    assert len(name) <= 30 and name[0] == text[0] and name[-1] == text[-1]
    assert (name == text) == (len(text) <= 30)
