"""Portable weights come back bit for bit, whatever their layout was in memory."""

import math

import numpy as np
import pytest

from velocity_ledger.errors import UserError
from velocity_ledger.experiment._weights import read_weights, write_weights


def test_weights_round_trip_bit_for_bit(tmp_path):
    base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    weights = {
        "transposed": base.transpose(2, 0, 1),
        "sliced": base[:, ::2, 1:],
        "fortran": np.asfortranarray(base),
        "reversed": base[::-1],
        "scalar": np.float32(math.pi),
        "integers": np.arange(3, dtype=np.int32),
    }
    path = tmp_path / "best.safetensors"
    write_weights(path, weights, {})
    back, _ = read_weights(path)
    assert set(back) == set(weights)
    for name, value in weights.items():
        assert back[name].dtype == np.asarray(value).dtype
        np.testing.assert_array_equal(back[name], value)


def test_metadata_are_texts_and_numbers_come_back_exactly(tmp_path):
    best = float(np.nextafter(2.0, 3))
    path = tmp_path / "best.safetensors"
    metadata = {"best_val": best, "variant": "ledger(mu=0.95)", "seed": 3, "none": None}
    write_weights(path, {"a": np.zeros(1, np.float32)}, metadata)
    _, metadata = read_weights(path)
    assert metadata["variant"] == "ledger(mu=0.95)"
    assert metadata["seed"] == "3"
    assert metadata["none"] == "null"
    assert float(metadata["best_val"]) == best


def test_missing_and_damaged_weights(tmp_path):
    path = tmp_path / "best.safetensors"
    with pytest.raises(UserError, match="no weights yet"):
        read_weights(path)
    write_weights(path, {"a": np.zeros(100, np.float32)}, {})
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(UserError, match="is damaged"):
        read_weights(path)
