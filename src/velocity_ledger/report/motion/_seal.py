"""A mark at a GIF's end by which it is known again: drawn from these data, by this program, whole.

Whoever shows a picture that was drawn before must not show one of other measurements.
"""

import dataclasses as dc
import functools
import hashlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

_REPORT = Path(__file__).resolve().parents[1]
_DRAW = ("matplotlib", "pillow", "numpy", "scipy")
_END = b";"  # A GIF's last byte.
_BEFORE = b"\x21\xfe"  # A comment begins.


def sealed(content: bytes, drawn_from: bytes) -> bytes:
    """A GIF's bytes with its seal: a comment that hashes them together with what it shows.

    `drawn_from` is the fingerprint of what it shows.
    """
    return content.removesuffix(_END) + _seal(content, drawn_from)


def is_sealed(content: bytes, drawn_from: bytes) -> bool:
    """Whether a GIF is whole and was drawn from what has this fingerprint."""
    length = len(_seal(b"", b""))
    return _seal(content[:-length] + _END, drawn_from) == content[-length:]


def fingerprint(*values: Any) -> bytes:
    """A hash of values with all that they hold, and of the program that draws them.

    Raises `TypeError` for a kind of value that it cannot see through.
    """
    digest = hashlib.sha256(_program())
    _feed(digest, values)
    return digest.digest()


def _seal(content: bytes, drawn_from: bytes) -> bytes:
    digest = hashlib.sha256(drawn_from + content).hexdigest()
    text = f"velocity-ledger {digest}".encode()
    return _BEFORE + bytes([len(text)]) + text + b"\0" + _END


@functools.cache
def _program() -> bytes:
    digest = hashlib.sha256()
    for path in sorted(_REPORT.rglob("*.py")):
        digest.update(path.relative_to(_REPORT).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    for name in _DRAW:
        digest.update(f"{name} {importlib.metadata.version(name)}\0".encode())
    return digest.digest()


def _feed(digest: Any, value: Any) -> None:
    """Add a value: its kind, how many parts it has, and these."""
    if isinstance(value, xr.Dataset):
        arrays = {str(k): (list(map(str, v.dims)), v.values) for k, v in value.variables.items()}
        _feed(digest, dict(sorted(arrays.items())))
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        digest.update(f"{value.dtype.str} {value.shape} ".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, np.ndarray):
        _feed(digest, value.tolist())
    elif dc.is_dataclass(value) and not isinstance(value, type):
        # What is no argument is kept for speed, and follows from the others.
        fields = {f.name: getattr(value, f.name) for f in dc.fields(value) if f.init}
        digest.update(type(value).__name__.encode())
        _feed(digest, fields)
    elif isinstance(value, Mapping):
        digest.update(f"{{{len(value)} ".encode())
        for pair in value.items():
            _feed(digest, pair)
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        digest.update(f"[{len(value)} ".encode())
        for part in value:
            _feed(digest, part)
    elif value is None or isinstance(value, (str, bytes, bool, int, float)):
        text = f"{type(value).__name__} {value!r}"
        digest.update(f"{len(text)} {text}".encode("utf-8", "surrogatepass"))
    else:
        raise TypeError(f"a {type(value).__name__} cannot be looked through")
