"""Labels keep their order, their distance and their interval, and tell variants apart."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from velocity_ledger.report._labels import distinct, spread, text_width, wrap
from velocity_ledger.report._style import figure, style

unit = st.floats(0, 1)


@given(st.lists(unit, max_size=12), st.floats(0, 0.5))
def test_spread(wanted, gap):
    places = spread(wanted, gap, 0.0, 1.0)
    assert len(places) == len(wanted)
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    apart = np.diff([places[k] for k in order])
    if len(wanted) > 1:
        assert apart.min() >= min(gap, 1 / (len(wanted) - 1)) - 1e-9


@given(st.lists(unit, max_size=6, unique=True), st.floats(0, 0.01))
def test_what_does_not_touch_stays(wanted, gap):
    ordered = sorted(wanted)
    if len(wanted) < 2 or min(np.diff(ordered)) >= gap:
        assert np.allclose(spread(wanted, gap, 0.0, 1.0), wanted, atol=1e-9)


def test_two_that_meet_part_evenly():
    assert np.allclose(spread([0.5, 0.5], 0.1, 0.0, 1.0), [0.45, 0.55])


LONG = "compose(heavy_ball(mu=0.{}), flat(), fixed(h=1.0))"


def test_what_differs_in_the_middle_is_kept():
    names = distinct([LONG.format(k) for k in (5, 8)] + ["plain"])
    assert ["mu=0.5" in names[0], "mu=0.8" in names[1], names[2]] == [True, True, "plain"]
    assert max(map(len, names)) <= 30


@given(st.lists(st.text("ab.", max_size=50), max_size=8))
def test_different_texts_have_different_labels(texts):
    names = distinct(texts, 12)
    assert len({*zip(texts, names, strict=True)}) == len(set(names)) == len(set(texts))
    assert max(map(len, names), default=0) <= 16


@pytest.mark.parametrize("dpi", [100, 160])
@pytest.mark.parametrize("bold", [False, True])
def test_texts_are_no_wider_than_they_are_measured(dpi, bold):
    with style():
        page = figure(4.0, 1.0)
        page.set_dpi(dpi)
        for text in ("ngpt-ledger", "./mine.py:Mine…00000000000004) 1.470", "WWWW", LONG):
            drawn = page.text(0, 0, text, fontsize=9.5, weight="bold" if bold else "normal")
            box = drawn.get_window_extent(page.canvas.get_renderer())  # pyright: ignore
            assert box.width / dpi <= text_width(text, 9.5, bold=bold) + 0.02


@given(st.text("abc de", max_size=60), st.floats(0.2, 3.0))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text, inches):
    lines = wrap(text, inches)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(len(line) <= 1 or text_width(line) <= inches for line in lines)
