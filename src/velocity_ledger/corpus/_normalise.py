"""Text to printable ASCII."""

import functools
import re
import unicodedata

# What Unicode's compatibility decomposition leaves alone, or takes apart badly.
_TABLE = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u2039\u203a\u02bc\u00b4", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"),
    # Project Gutenberg's own plain-text convention; keeps dashes apart from hyphens.
    **dict.fromkeys("\u2014\u2015", "--"),
    "\u2044": "/",
    "\u00c6": "AE",
    "\u00e6": "ae",
    "\u0152": "OE",
    "\u0153": "oe",
    "\u00d8": "O",
    "\u00f8": "o",
    "\u00df": "ss",
    "\u00d0": "D",
    "\u00f0": "d",
    "\u00de": "Th",
    "\u00fe": "th",
    "\u0141": "L",
    "\u0142": "l",
    "\t": " ",
}
_OTHER = re.compile(r"[^\n -~]")


def to_ascii(text: str) -> str:
    """Map quotes, dashes, ligatures and accents to ASCII, a tab to a space, and drop the rest.

    What is left is printable ASCII and the newline; carriage returns are dropped.
    """
    return _OTHER.sub(lambda match: _ascii(match[0]), text.replace("\r", ""))


@functools.cache
def _ascii(character: str) -> str:
    """Take one character apart; marks of accents are dropped where they stand alone too."""
    if character in _TABLE:
        return _TABLE[character]
    parts = unicodedata.normalize("NFKD", character)
    return _OTHER.sub("", "".join(_TABLE.get(part, part) for part in parts))


_HEADING = re.compile(r"^#+ +", re.MULTILINE)
_MARK = re.compile(r"\\([!-/:-@\[-`{-~])|[*_]")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)


def strip_markdown(text: str) -> str:
    """Take Markdown's headings, emphasis, hard breaks and escapes out of a play."""
    text = _HEADING.sub("", text)
    text = _MARK.sub(lambda match: match[1] or "", text)
    return _TRAILING.sub("", text.replace("&amp;", "&"))
