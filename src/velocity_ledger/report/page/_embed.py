"""What goes into the file besides words: data, pictures, and the policy that keeps it closed."""

import base64
import dataclasses as dc
import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from PIL import Image

# In a script element only these can end it or change how it is read; the last two end a line of
# a program, though not of JSON.
_ESCAPED = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def json_for_script(value: Any) -> Markup:
    """`value` as strict JSON for a script element; numbers that are not finite become null."""
    text = json.dumps(_plain(value), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for character, written in _ESCAPED.items():
        text = text.replace(character, written)
    # A lone surrogate, which a JSON file can hold, has no UTF-8.
    return Markup(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def policy(style: str, script: str) -> str:
    """A content security policy: this style and this script, pictures in the file, nothing else."""
    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{hashes[0]}'; "
        f"script-src 'sha256-{hashes[1]}'; base-uri 'none'; form-action 'none'"
    )


@dc.dataclass(frozen=True)
class Moving:
    """A GIF and its last frame, as data URIs."""

    name: str
    gif: str
    still: str
    width: int
    height: int
    seconds: float


def moving(path: Path) -> Moving:
    """Read a GIF for the page."""
    content = path.read_bytes()
    with Image.open(io.BytesIO(content)) as image:
        frames = getattr(image, "n_frames", 1)
        duration = 0.0
        for k in range(frames):
            image.seek(k)
            duration += float(image.info.get("duration", 0)) / 1000
        buffer = io.BytesIO()
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
            buffer, "PNG", optimize=True
        )
        width, height = image.size
    still = buffer.getvalue()
    return Moving(path.stem, _uri(content, "gif"), _uri(still, "png"), width, height, duration)


def _uri(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        # Seven digits: what float32 holds, and half the size.
        return float(f"{value:.7g}") if math.isfinite(value) else None
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(v) for v in value]
    return value
