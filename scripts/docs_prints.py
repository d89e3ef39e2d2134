"""What the programs of a page print, put below them: a number on a page is nobody's typing."""

import contextlib
import io
import re

_PIECE = re.compile(
    r"^```python\n(?P<code>.*?)^```$|^(?P<mark><!-- prints -->)$", re.MULTILINE | re.DOTALL
)


def printed(markdown: str, name: str) -> str:
    """Run a page's Python blocks in order, as one program; every mark becomes what the last wrote.

    Raises `ValueError` for a mark without a block above it that printed something.
    """
    namespace = {"__name__": name}
    out = ""

    def piece(found: re.Match[str]) -> str:
        nonlocal out
        if found["mark"]:
            if not out:
                raise ValueError(f"{name}: nothing was printed above a mark")
            text, out = out, ""
            return f"``` {{ .text .prints }}\n{text}```"
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            exec(compile(found["code"], name, "exec"), namespace)
        out = written.getvalue()
        return found[0]

    return _PIECE.sub(piece, markdown)
