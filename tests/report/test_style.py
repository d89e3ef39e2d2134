"""Names are shown harmlessly, and colours are told apart and read."""

import pytest
from matplotlib.colors import to_rgb

from velocity_ledger.report._style import harmless, look, short


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ledger(mu=0.9)", "ledger(mu=0.9)"),
        ("naïve µ → $x$ <b>", "naïve µ → $x$ <b>"),
        ("a\nb\tc\x00", "a\\nb\\tc\\x00"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("\u05d0(\u0627)", "\\u05d0(\\u0627)"),
        ("\ud800", "\\ud800"),
        # No glyph in the font, which would be a warning and an empty box.
        ("漢🦄", "\\u6f22\\U0001f984"),
        ("a\u00a0b", "a\\xa0b"),
    ],
)
def test_harmless(text, shown):
    assert harmless(text) == shown


@pytest.mark.parametrize(
    "text", ["ledger", "x" * 30, "x" * 31, "compose(heavy_ball(), flat())" * 2]
)
def test_a_short_name_keeps_both_ends(text):
    name = short(text)
    assert len(name) <= 30 and name[0] == text[0] and name[-1] == text[-1]
    assert (name == text) == (len(text) <= 30)


def test_the_first_eight_looks_differ_in_colour_and_line_and_the_next_in_their_pair():
    looks = [look(index) for index in range(8)]
    assert len({one.colour for one in looks}) == len({one.dashes for one in looks}) == 8
    assert len({look(index) for index in range(72)}) == 72


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("index", range(8))
def test_text_in_a_variant_s_colour_can_be_read_on_white(index):
    assert 1.05 / (luminance(look(index).ink) + 0.05) >= 4.5


def test_black_lies_visibly_on_every_bar():
    assert all((luminance(look(index).tint) + 0.05) / 0.05 > 4.5 for index in range(8))
