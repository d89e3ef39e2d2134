"""What the figures show is what the bundle holds, and no text lies on another."""

import dataclasses as dc
import functools
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from matplotlib.container import BarContainer
from matplotlib.text import Annotation, Text

from velocity_ledger.experiment import open_bundle, summary
from velocity_ledger.report._data import Facts, facts, variants
from velocity_ledger.report._style import style
from velocity_ledger.report.figures import NAMES, figures
from velocity_ledger.report.figures._page import number
from velocity_ledger.report.figures._paths import paths_figure
from velocity_ledger.report.figures._steps import steps_figure
from velocity_ledger.report.figures._turning import turning_figure
from velocity_ledger.report.figures._validation import validation_figure
from velocity_ledger.telemetry import mean_interval, paired_difference

TWELVE = (
    "plain",
    "ledger",
    "ngpt-lite",
    "ngpt-ledger",
    "ledger(mu=0.95)",
    "ledger(mu=0.5)",
    "./mine.py:Mine(h=0.30000000000000004)",
    "compose(heavy_ball(mu=0.9), flat(), fixed(h=1.0))",
    "compose(heavy_ball(mu=0.8), flat(), fixed(h=1.0))",
    "compose(heavy_ball(mu=0.99), sphere(radius=13.9), alpha())",
    "./a$\\frac{$<i>\u202e.py:X()",
    "damped(h=0.46)",
)


class Drawn(Mapping[str, Any]):
    """Figures by name, each drawn when it is first looked at."""

    def __init__(self, made: Mapping[str, Any]) -> None:
        self._made, self._drawn = made, set()

    def __getitem__(self, name: str) -> Any:
        figure = self._made[name]
        if name not in self._drawn:
            with style():
                figure.canvas.draw()
            self._drawn.add(name)
        return figure

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


def drawn(bundle) -> Drawn:
    """The figures of a bundle, drawn."""
    return Drawn(figures(open_bundle(bundle)))


@pytest.fixture(scope="module")
def pair(bundle_of):
    """Return the run of plain and a ledger with these seeds, and its figures: to be looked at."""

    @functools.cache
    def made(*seeds):
        bundle = bundle_of(("plain", "ledger"), seeds)
        return bundle, drawn(bundle)

    return made


def means_alone(variant):
    """The variant as if imported: means over tokens, no null model, and neither chord nor |f|."""
    names = ("val_loss", "step_length", "turning_angle", "stream_norm", "velocity_norm")
    cells = {}
    for seed, data in variant.cells.items():
        kept = data[[name for name in names if name in data]]
        along = [name for name in kept.data_vars if "token" in kept[name].dims]
        kept = kept.assign({name: kept[name].mean("token") for name in along})
        cells[seed] = kept.drop_dims("token", errors="ignore").drop_vars(
            ("window", "position"), errors="ignore"
        )
    return dc.replace(variant, cells=cells)


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


def said(figure) -> str:
    """All visible texts, as if none were broken into lines."""
    return " ".join(text for text, _ in texts(figure)).replace("\n", " ")


def lowest(box):
    return box.x0, box.y0


def highest(box):
    return box.x1, box.y1


def check_texts(figure):
    page = figure.bbox
    shown = texts(figure)
    assert len(shown) > 10
    names = [name for name, _ in shown]
    low, high = (np.array([corner(box) for _, box in shown]) for corner in (lowest, highest))
    for k, name in enumerate(names):
        assert (low[k] >= lowest(page)).all() and (high[k] <= highest(page)).all(), name
    # How far two texts lie in each other, sideways and upwards, in pixels.
    shared = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    both = np.triu((shared > 1).all(-1), 1)
    assert [(names[i], names[j]) for i, j in np.argwhere(both)] == []


def bars(axes):
    """Lengths of horizontal bars by row: measured ones, null models'."""
    found = {}, {}
    for container in axes.containers:
        if isinstance(container, BarContainer):
            (bar,) = container.patches
            null = bar.get_facecolor()[:3] == (1.0, 1.0, 1.0)
            found[null][round(bar.get_y() + bar.get_height() / 2)] = bar.get_width()
    return found


def lines_like(axes, wanted):
    """Lines of `axes` that have these heights."""
    return [
        line
        for line in axes.get_lines()
        if len(line.get_ydata()) == len(wanted)
        and np.allclose(line.get_ydata(), wanted, rtol=1e-6, equal_nan=True)
    ]


# Two stand beside each other as four do; the pair's own figures are read one by one below.
@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.slow), 4, 12])
def test_no_text_overlaps_another_or_leaves_the_page(bundle_of, count):
    seeds = {1: (5,), 12: (0, 1)}.get(count, (0, 1, 2))
    corpus = {"name": "gutenberg", "characters": 5_359_444}
    made = drawn(bundle_of(TWELVE[:count], seeds, corpus=corpus))
    assert tuple(made) == NAMES
    for figure in made.values():
        check_texts(figure)
        assert "Corpus: gutenberg, 5,359,444 characters" in said(figure)


def test_cells_that_are_not_alike_have_room_too(bundle_of):
    bundle = bundle_of(
        TWELVE[5:9],
        (0, 1),
        layers=24,
        states={(TWELVE[6], 0): "diverged"},
        measured={(TWELVE[7], 1): (0, 60), (TWELVE[5], 0): (0,), (TWELVE[5], 1): (0,)},
    )
    for figure in drawn(bundle).values():
        check_texts(figure)


def test_names_are_shown_as_they_are_and_harmlessly(bundle_of):
    names = TWELVE[:2] + TWELVE[10:11]
    for figure in drawn(bundle_of(names, (0, 1))).values():
        assert "./a$\\frac{$<i>\\u202e" in said(figure)
        assert "\u202e" not in said(figure)
        file = io.BytesIO()
        figure.savefig(file, format="svg")
        svg = file.getvalue().decode()
        assert "<i>" not in svg and "\u202e" not in svg
        # Its own background, whatever the page's is.
        assert re.search(r'id="patch_1">\s*<path [^>]*style="fill: #ffffff"', svg)


@pytest.mark.parametrize("seeds", [(0,), (0, 1, 2)])
def test_titles_say_step_seeds_and_corpus_where_known(pair, seeds):
    _, made = pair(*seeds)
    count = f"{len(seeds)} seed" + "s" * (len(seeds) > 1)
    for name in ("paths", "turning", "steps"):
        assert f"at step 600, {count} " in said(made[name]) + " "
    assert f"{count}, up to step 600 of 12,000" in said(made["validation"])
    for figure in made.values():
        assert "Corpus" not in said(figure)
    assert ("One seed" in said(made["validation"])) == (len(seeds) == 1)
    assert ("One seed: no interval" in said(made["paths"])) == (len(seeds) == 1)
    assert ("Student interval" in said(made["validation"])) == (len(seeds) > 1)


def test_the_curves_are_the_bundle_s(pair):
    bundle, made = pair(0, 1)
    plain, ledger = variants(open_bundle(bundle))
    upper, lower = made["validation"].axes
    curves = [plain.curves(), ledger.curves()]
    for by_seed in curves:
        mean = np.mean([c.loss for c in by_seed.values()], 0)
        for wanted in (*(c.loss for c in by_seed.values()), mean):
            assert lines_like(upper, wanted)
        for curve in by_seed.values():
            assert lines_like(upper, [float(curve.loss.min())])
    difference = np.mean([curves[1][s].loss - curves[0][s].loss for s in (0, 1)], 0)
    assert lines_like(lower, difference)
    assert upper.get_ylabel() == "validation loss, nats per character"
    assert lower.get_ylabel() == "nats per character"


def test_the_band_is_the_paired_interval_and_the_number_the_table_s(pair):
    bundle, made = pair(0, 1, 2)
    plain, ledger = (variant.curves() for variant in variants(open_bundle(bundle)))
    figure = made["validation"]
    (band,) = figure.axes[1].collections
    corners = band.get_paths()[0].vertices
    for k, step in enumerate(plain[0].step):
        wanted = paired_difference(
            [ledger[s].loss[k] for s in (0, 1, 2)], [plain[s].loss[k] for s in (0, 1, 2)]
        )
        edges = corners[corners[:, 0] == step][:, 1]
        assert edges.min() == pytest.approx(wanted.low)
        assert edges.max() == pytest.approx(wanted.high)
    row = summary(open_bundle(bundle))[1].difference
    assert row is not None and row.low is not None
    text = f"best: {row.mean:+.4f} [{row.low:+.4f}, {row.high:+.4f}]".replace("-", "−")
    assert text in said(figure)


def test_one_seed_has_no_band(pair):
    figure = pair(0)[1]["validation"]
    assert not figure.axes[1].collections
    assert "no interval" in said(figure)


@pytest.mark.parametrize("seeds", [(0,), (0, 1, 2)])
def test_the_path_is_beside_its_null(pair, seeds):
    bundle, made = pair(*seeds)
    rows = [variant.summaries(600) for variant in variants(open_bundle(bundle))]
    figure = made["paths"]
    for axes, quantity in zip(
        figure.axes, ("path_length", "path_over_norm", "straightness"), strict=False
    ):
        measured, null = bars(axes)
        for place, summaries in enumerate(rows):
            values = [row[quantity] for row in summaries]
            assert measured[place] == pytest.approx(np.mean(values))
            assert null[place] == pytest.approx(summaries[0][f"null_{quantity}"])
            interval = mean_interval(values)
            text = number(interval.mean)
            if len(seeds) > 1:
                assert interval.low is not None and interval.high is not None
                assert any(
                    np.allclose(line.get_xdata(), (interval.low, interval.high))
                    for line in axes.get_lines()
                    if len(line.get_xdata()) == 2
                )
                ticks = [line for line in axes.get_lines() if line.get_marker() == "|"]
                assert any(np.allclose(line.get_xdata(), values) for line in ticks)
                text += f" ± {number(interval.high - interval.mean, interval.mean)}"
            assert text in [t.get_text() for t in axes.texts]
        assert bool(axes.get_lines()) == (len(seeds) > 1)
    assert [axes.get_xlabel() for axes in figure.axes] == [
        "units of the residual stream",
        "path length / final norm, a ratio",
        "chord / path length, a ratio",
        "sub-update, from the embedding (0) to the last layer",
    ]


def test_the_path_so_far_ends_in_the_bar_s_length(pair):
    bundle, made = pair(0, 1)
    figure = made["paths"]
    measured, _ = bars(figure.axes[0])
    for variant in variants(open_bundle(bundle)):
        steps = variant.profile("step_length", 600)
        assert steps is not None
        (line,) = lines_like(figure.axes[3], [0.0, *np.cumsum(steps)])
        assert line.get_ydata()[-1] == pytest.approx(measured[variant.index])


def test_turning_angles_are_the_last_checkpoint_s_with_the_first_faint(pair):
    bundle, made = pair(0, 1)
    figure = made["turning"]
    for axes, variant in zip(figure.axes, variants(open_bundle(bundle)), strict=True):
        cells = list(variant.cells.values())
        for checkpoint, dashes in ((600, False), (0, True)):
            wanted = np.mean(
                [d["turning_angle"].sel(checkpoint=checkpoint).mean("token") for d in cells], 0
            )
            assert [line.get_linestyle() == ":" for line in lines_like(axes, wanted)] == [dashes]
        rows = variant.summaries(600)
        for marker, name in (("o", "turning_angle"), ("D", "null_turning_angle")):
            wanted = np.mean([row[name] for row in rows])
            (line,) = [
                one
                for one in lines_like(axes, [wanted])
                if one.get_marker() == marker and one.get_xdata()[0] > 13
            ]
            assert line.get_markerfacecolor() == "white" or marker == "o"
        assert f"null model {number(rows[0]['null_turning_angle'])}°" in said(figure)
    assert figure.axes[0].get_ylabel() == "turning angle, degrees"
    # Attention first, filled; then the MLP, open.
    marks = {line.get_marker(): line for line in figure.axes[0].get_lines()}
    assert list(marks["s"].get_xdata()) == [2, 4, 6, 8, 10, 12]
    assert marks["s"].get_markerfacecolor() == "white"


def test_another_number_of_sub_updates_claims_no_attention(bundle_of):
    found = variants(open_bundle(bundle_of(("plain", "ledger"), (0,), layers=4)))
    for known, claimed in ((Facts(None, 12, None), False), (Facts(None, 8, None), True)):
        with style():
            made: list[Any] = [
                draw(found, known) for draw in (paths_figure, turning_figure, steps_figure)
            ]
        for figure in made:
            assert figure is not None
            figure.canvas.draw()
            assert ("attention" in said(figure)) == claimed


def test_steps_stand_before_what_was_asked_and_under_the_velocity(pair):
    bundle, made = pair(0, 1)
    figure = made["steps"]
    for axes, variant in zip(figure.axes, variants(open_bundle(bundle)), strict=True):
        steps, asked = axes.containers
        for container, name in ((steps, "step_length"), (asked, "increment")):
            heights = [bar.get_height() for bar in container.patches]
            assert np.allclose(heights, variant.profile(name, 600))
        velocity = variant.profile("velocity_norm", 600)
        assert len(axes.get_lines()) == (velocity is not None)
        if velocity is not None:
            assert lines_like(axes, velocity)
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    assert "All panels have one scale" in said(figure)
    plain = variants(open_bundle(bundle))[0].summaries(600)
    path = number(float(np.mean([row["path_length"] for row in plain])))
    assert f"path {path}, 100 % of the {path} asked for" in said(figure)


def test_steps_of_unlike_sizes_have_scales_of_their_own(bundle_of):
    found = variants(open_bundle(bundle_of(("plain", "ledger"), (0,))))
    small = {seed: data * 1e-3 for seed, data in found[1].cells.items()}
    with style():
        figure = steps_figure(
            [found[0], dc.replace(found[1], cells=small)], Facts(None, None, None)
        )
    assert figure is not None
    figure.canvas.draw()
    assert "Each panel has its own scale" in said(figure)
    low, high = (axes.get_ylim()[1] for axes in figure.axes[::-1])
    assert low < high / 100
    check_texts(figure)


def test_what_an_imported_run_lacks_is_left_out_and_said(bundle_of):
    whole = variants(open_bundle(bundle_of(TWELVE[:4], (0, 1, 2))))
    found = [means_alone(variant) for variant in whole]
    known = Facts(None, None, None)
    with style():
        made: dict[str, Any] = {
            "validation": validation_figure(found, known),
            "paths": paths_figure(found, known),
            "turning": turning_figure(found, known),
            "steps": steps_figure(found, known),
        }
    for figure in made.values():
        figure.canvas.draw()
        check_texts(figure)
        assert not re.search(r"\bnan\b|attention|null model:", said(figure))
    paths = made["paths"]
    assert "Not recorded in this run: path over norm, straightness, null models." in said(paths)
    measured, null = bars(paths.axes[0])
    for variant, before in zip(found, whole, strict=True):
        wanted = np.mean([row["path_length"] for row in before.summaries(600)])
        assert measured[variant.index] == pytest.approx(wanted, rel=1e-5)
    assert null == {}
    assert "Null models were not recorded." in said(made["turning"])
    assert "What the fields asked for was not recorded." in said(made["steps"])
    assert "velocity |v_k|" in said(made["steps"])


@pytest.mark.parametrize(
    "name", ["val_loss", "step_length", "turning_angle", "velocity_norm", "stream_norm"]
)
def test_any_one_array_is_enough_for_what_it_can_show(bundle_of, name):
    shows = {
        "val_loss": {"validation"},
        "step_length": {"paths", "steps"},
        "turning_angle": {"turning"},
    }
    found = []
    for variant in variants(open_bundle(bundle_of(("plain", "ledger"), (0,)))):
        one = means_alone(variant)
        cells = {s: d[[name] if name in d else []] for s, d in one.cells.items()}
        found.append(dc.replace(one, cells=cells))
    with style():
        for figure, draw in (
            ("validation", validation_figure),
            ("paths", paths_figure),
            ("turning", turning_figure),
            ("steps", steps_figure),
        ):
            made = draw(found, Facts(None, None, None))
            assert (made is not None) == (figure in shows.get(name, set()))
            if made is not None:
                made.canvas.draw()
                check_texts(made)


def test_figures_and_table_show_the_same_cells_at_the_same_checkpoint(bundle_of):
    bundle = bundle_of(
        ("plain", "ledger"),
        (0, 1, 2),
        states={("ledger", 0): "diverged", ("plain", 2): "interrupted"},
        measured={("ledger", 1): (0, 60), ("ledger", 0): (0, 60, 900)},
    )
    found, made = variants(open_bundle(bundle)), drawn(bundle)
    rows = summary(open_bundle(bundle))
    assert [(v.text, tuple(v.cells)) for v in found] == [("plain", (0, 1)), ("ledger", (1, 2))]
    assert [v.checkpoint for v in found] == [row.checkpoint for row in rows] == [600, 60]
    measured, _ = bars(made["paths"].axes[0])
    assert measured == pytest.approx({k: row.path_length for k, row in enumerate(rows)})
    # A thin line a seed and a thick one.
    curves = [
        line for line in made["validation"].axes[0].get_lines() if len(line.get_xdata()) == 12
    ]
    assert len(curves) == 6
    for name, figure in made.items():
        assert "without 2 diverged or unfinished cells" in said(figure)
        assert name == "validation" or "step 60" in said(figure).replace("step 600", "")


def test_a_variant_without_measurements_is_named(bundle_of):
    bundle = open_bundle(bundle_of(("plain", "ledger"), (0,)))
    del bundle.datasets["ledger", 0]
    assert facts(bundle).unmeasured == ("ledger",)
    for figure in figures(bundle).values():
        figure.canvas.draw()
        assert "Not measured yet: ledger." in said(figure)


def test_a_variant_that_diverged_everywhere_is_no_rival(bundle_of):
    bundle = bundle_of(("plain", "ledger"), (0, 1), diverged=True)
    assert [v.diverged for v in variants(open_bundle(bundle))] == [False, True]
    figure = drawn(bundle)["validation"]
    assert len(figure.axes) == 1
    assert "No difference is taken of what diverged: ledger." in said(figure)


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e30])
def test_what_diverged_crushes_nobody(bundle_of, value):
    found = variants(open_bundle(bundle_of(("plain", "ledger"), (0, 1), diverged=True)))
    wild = {}
    for seed, data in found[1].cells.items():
        wild[seed] = data.copy(deep=True)
        wild[seed]["step_length"][:, 3:] = value
    with style():
        figures: list[Any] = [
            draw([found[0], dc.replace(found[1], cells=wild)], Facts(None, None, None))
            for draw in (paths_figure, turning_figure, steps_figure)
        ]
    for figure in figures:
        assert figure is not None
        figure.canvas.draw()
        check_texts(figure)
    path = found[0].summaries(600)[0]["path_length"]
    assert figures[0] is not None
    assert figures[0].axes[0].get_xlim()[1] < 2 * path


def test_seeds_that_share_no_step_have_no_mean(bundle_of):
    validated = {0: (250, 500), 1: (100,)}
    figure = drawn(bundle_of(("plain", "ledger"), (0, 1), validated=validated))["validation"]
    upper, lower = figure.axes
    assert sorted(len(line.get_xdata()) for line in upper.get_lines()) == [1] * 6 + [2, 2]
    # The line at zero and two seeds, thin.
    assert sorted(len(line.get_xdata()) for line in lower.get_lines()) == [1, 2, 2]
    check_texts(figure)
