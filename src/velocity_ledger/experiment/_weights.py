"""Portable weights: safetensors whose own metadata says what they reproduce."""

import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _json
from velocity_ledger.experiment._files import write_aside

NAME = "best.safetensors"


def write_weights(
    path: pathlib.Path, weights: Mapping[str, Any], metadata: Mapping[str, Any]
) -> None:
    """Write arrays by name, and `metadata` as texts: a string as it is, all else as JSON.

    The arrays are made C-contiguous first: safetensors writes wrong values for others.
    """
    arrays = {name: np.array(w, order="C", copy=True) for name, w in weights.items()}
    texts = {
        k: v if isinstance(v, str) else _json.dumps(v, indent=None) for k, v in metadata.items()
    }
    content = safetensors.numpy.save(arrays, metadata=texts)
    write_aside(path, lambda aside: aside.write_bytes(content))


def read_weights(path: pathlib.Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the arrays by name and the metadata's texts, both from one opening of the file.

    Raises `UserError` where there is no such file or it is damaged.
    """
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            texts = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return arrays, dict(texts)
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist: that cell has no weights yet") from error
    except (safetensors.SafetensorError, OSError) as error:
        raise UserError(
            f"{path} is damaged ({error}): restore it, or run the cell again"
        ) from error
