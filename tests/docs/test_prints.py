"""Below a program stands what it printed, and nothing else."""

import pytest

import snippets

BLOCK = "```python\n{}\n```\n"
MARK = "\n<!-- prints -->\n"


@pytest.fixture(scope="module")
def printed():
    return snippets.script("docs_prints").printed


def test_a_mark_becomes_what_the_block_above_it_wrote(printed):
    first, second = BLOCK.format("x = 6\nprint(x)"), BLOCK.format("print(7 * x)")
    made = printed(first + MARK + "words\n\n" + second + MARK, "page.md")
    shown = "``` {{ .text .prints }}\n{}\n```"
    six, more = shown.format(6), shown.format(42)
    assert made == f"{first}\n{six}\nwords\n\n{second}\n{more}\n"


def test_what_no_mark_asks_for_is_not_shown(printed):
    page = BLOCK.format("print(1)") + "\n" + BLOCK.format("print(2)") + MARK
    made = printed(page, "page.md")
    assert made.count(".prints") == 1 and ".prints }\n2\n```" in made


@pytest.mark.parametrize("page", [MARK, BLOCK.format("x = 1") + MARK], ids=["none", "silent"])
def test_a_mark_without_words_is_told(printed, page):
    with pytest.raises(ValueError, match=r"page\.md: nothing was printed above a mark"):
        printed(page, "page.md")


def test_a_programs_mistake_is_raised(printed):
    with pytest.raises(ZeroDivisionError):
        printed(BLOCK.format("1 / 0"), "page.md")
