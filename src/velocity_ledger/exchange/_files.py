"""Reading files that nobody here made: nothing in them is executed, and their size is bounded."""

import dataclasses as dc
import hashlib
import io
import json
import lzma
import math
import pathlib
import re
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from velocity_ledger.errors import UserError

ENTRIES = 20_000
"""Arrays that one file may hold."""
ENTRY_BYTES = 64 * 2**20
TOTAL_BYTES = 512 * 2**20
"""Bytes, unpacked, of one array and of all arrays of an import."""
JSON_BYTES = 32 * 2**20
_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_SCALAR = re.compile(r"^(?:np\.|numpy\.)?(?:float|int|uint)[0-9]*\((?P<number>.*)\)$")


@dc.dataclass(frozen=True)
class Source:
    """One file as it was read."""

    path: pathlib.Path
    sha256: str
    size: int
    arrays: dict[str, np.ndarray] | None
    """Of an npz, by name."""
    record: Any
    """Of a JSON file."""
    others: list[str]
    """Members of an npz that are no arrays."""


def read_sources(paths: Sequence[pathlib.Path]) -> list[Source]:
    """Read npz and JSON files, whatever they are called, in any order.

    Raises `UserError` for a file that is neither, is damaged, holds pickled objects, or unpacks to
    more than the limits of this module.
    """
    if not paths:
        raise UserError("name the files to import: an npz, a JSON, or both")
    left, found = TOTAL_BYTES, []
    for path in paths:
        try:
            with open(path, "rb") as handle:
                source = _read(path, handle, left)
        except FileNotFoundError as error:
            raise UserError(f"{path} does not exist") from error
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror or error}") from error
        left -= sum(a.nbytes for a in (source.arrays or {}).values())
        found.append(source)
    return found


def _read(path: pathlib.Path, handle: io.BufferedReader, left: int) -> Source:
    digest, size = hashlib.sha256(), 0
    while chunk := handle.read(2**20):
        digest.update(chunk)
        size += len(chunk)
    handle.seek(0)
    if zipfile.is_zipfile(handle):
        handle.seek(0)
        arrays, others = _read_npz(path, handle, left)
        return Source(path, digest.hexdigest(), size, arrays, None, others)
    handle.seek(0)
    if size > JSON_BYTES:
        raise UserError(f"{path} is no npz, and too large for a JSON ({size:,} bytes)")
    return Source(path, digest.hexdigest(), size, None, _read_json(path, handle.read()), [])


def _read_npz(
    path: pathlib.Path, handle: io.BufferedReader, left: int
) -> tuple[dict[str, np.ndarray], list[str]]:
    arrays: dict[str, np.ndarray] = {}
    others: list[str] = []
    try:
        with zipfile.ZipFile(handle) as archive:
            members = archive.infolist()
            if len(members) > ENTRIES:
                raise UserError(f"{path} holds {len(members):,} arrays, more than {ENTRIES:,}")
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name == member.filename:
                    others.append(name)
                    continue
                if name in arrays:
                    raise UserError(f"{path} holds {name} twice: give one file a run")
                left -= member.file_size
                # What a header announces is refused before anything is unpacked.
                if member.file_size > ENTRY_BYTES or left < 0:
                    raise UserError(
                        f"{path} unpacks to too much ({name}: {member.file_size:,} bytes)"
                    )
                with archive.open(member) as packed:
                    arrays[name] = _read_array(path, name, packed, member.file_size)
    except (
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise UserError(f"{path} is damaged ({error}): fetch it again") from error
    return arrays, others


def _read_array(path: pathlib.Path, name: str, packed: Any, size: int) -> np.ndarray:
    try:
        version = np.lib.format.read_magic(packed)
        # Version 3 differs from 2 by the names of fields, and no field is taken.
        read = _READERS.get((2, 0) if version == (3, 0) else version)
        if read is None:
            raise ValueError(f"format {version}")
        shape, fortran, dtype = read(packed)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise UserError(f"{path}: {name} is no array ({_first(error)})") from error
    if dtype.hasobject:
        raise UserError(
            f"{path}: {name} holds pickled objects, which could run code: save it as numbers"
        )
    if any(n < 0 for n in shape) or max(shape, default=0) > size:
        raise UserError(f"{path}: {name} is cut off, or damaged: fetch it again")
    count = math.prod(shape)
    if count * dtype.itemsize > size:
        raise UserError(f"{path}: {name} is cut off, or damaged: fetch it again")
    content = packed.read(count * dtype.itemsize)
    if len(content) < count * dtype.itemsize:
        raise UserError(f"{path}: {name} is cut off, or damaged: fetch it again")
    if dtype.itemsize == 0:
        return np.zeros(shape if count < ENTRIES else 0, dtype)
    flat = np.frombuffer(content, dtype, count)
    return flat.reshape(shape, order="F" if fortran else "C")


def _read_json(path: pathlib.Path, content: bytes) -> Any:
    try:
        # Python's own reader takes NaN and Infinity, which writers leave in results.
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is neither npz nor JSON ({_first(error)})") from error


def _first(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def number(value: Any) -> float | None:
    """The number that a value of a JSON stands for; None where it is none.

    Some writers save NumPy's scalars as texts: `1.43`, `np.float32(1.43)`.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return None
    if isinstance(value, (list, tuple)) and len(value) == 1:
        return number(value[0])
    if isinstance(value, str) and len(value) < 64:
        match = _SCALAR.match(value.strip())
        try:
            return float(match["number"] if match else value)
        except ValueError:
            return None
    return None


def whole(value: Any) -> int | None:
    """The whole number that a value of a JSON stands for; None where it is none."""
    found = number(value)
    if found is None or not math.isfinite(found) or found != int(found):
        return None
    return int(found)
