"""Labels keep their order, their distance and their interval."""

import numpy as np
from hypothesis import given, strategies as st

from velocity_ledger.report._labels import spread

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
