"""Plain-text tables."""

from collections.abc import Sequence


def aligned(lines: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return rows of cells as columns, a rule below the first; `left` columns are set left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([text[0], "-" * (sum(widths) + 2 * (len(widths) - 1)), *text[1:]])
