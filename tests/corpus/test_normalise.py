import re

import pytest
from hypothesis import given, strategies as st

from velocity_ledger.corpus._normalise import strip_markdown, to_ascii


@given(st.text())
def test_only_printable_ascii_and_newlines_are_left(text: str) -> None:
    assert re.fullmatch(r"[\n -~]*", to_ascii(text))


@given(st.text())
def test_a_second_time_changes_nothing(text: str) -> None:
    assert to_ascii(to_ascii(text)) == to_ascii(text)


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]) | st.just("\n")))
def test_ascii_stays_as_it_is(text: str) -> None:
    assert to_ascii(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\u201cO\u201d \u2018tis\u2019", "\"O\" 'tis'"),
        ("a\u2013b\u2014c", "a-b--c"),
        ("\u00c6neas c\u0153ur \ufb01ne", "AEneas coeur fine"),
        ("na\u00efve, \u00c9tienne, \u00e7a", "naive, Etienne, ca"),
        ("e\u0301", "e"),
        ("a\tb\u00a0c", "a b c"),
        ("a\r\nb\rc", "a\nbc"),
        ("\u2026 \u00bd", "... 1/2"),
        ("\ufeff\u4e00\x0c", ""),
    ],
)
def test_the_mapping(text: str, expected: str) -> None:
    assert to_ascii(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Hamlet\n\n### SCENE I. Elsinore.\n", "Hamlet\n\nSCENE I. Elsinore.\n"),
        ("**LORD & LADY**  \nWho's there?\n", "LORD & LADY\nWho's there?\n"),
        ("_\\[Within]_  \n", "[Within]\n"),
        ("*[He draws.]*\n", "[He draws.]\n"),
        ("_Enter KING, and\nothers_\n", "Enter KING, and\nothers\n"),
        ("1\\. A flourish; 2 \\* 2, \\\\, like,'\\--  \n", "1. A flourish; 2 * 2, \\, like,'--\n"),
        ("a &amp; b", "a & b"),
    ],
)
def test_markdown_comes_off(text: str, expected: str) -> None:
    assert strip_markdown(text) == expected
