"""The words of a command, looked at before they are parsed."""

from collections.abc import Sequence


def value_of(option: str, words: Sequence[str]) -> str | None:
    """The last value that `words` give to an option of one value."""
    found = None
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == option:
            found = value if equals else "".join(words[position + 1 : position + 2])
    return found
