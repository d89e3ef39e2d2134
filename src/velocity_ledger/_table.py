"""Plain-text tables."""

from collections.abc import Sequence


def aligned(
    lines: Sequence[Sequence[str]], left: int = 1, *, last_left: bool = False, rule: bool = True
) -> str:
    """Return rows of cells as columns, with a `rule` below the first.

    The first `left` columns, and the last one if asked for, are set left, all others right.
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lefts = {*range(left), *([len(widths) - 1] if last_left else [])}
    text = [
        "  ".join(
            cell.ljust(width) if k in lefts else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    if rule:
        text.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(text)
