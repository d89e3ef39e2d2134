"""Nothing in a file is executed, and nothing unpacks to more than it may."""

import io
import pickle
import zipfile

import numpy as np
import pytest

from exchange.published import write_json, write_npz
from velocity_ledger.errors import UserError
from velocity_ledger.exchange import _files
from velocity_ledger.exchange._files import number, read_sources, whole


def refused(path) -> str:
    with pytest.raises(UserError) as caught:
        read_sources([path])
    assert "\n" not in str(caught.value) and path.name in str(caught.value)
    return str(caught.value)


class Trap:
    """Writes a file when unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_pickles_are_never_loaded(tmp_path):
    trap = tmp_path / "sprung"
    path = tmp_path / "a.npz"
    with open(path, "wb") as handle:
        np.savez(handle, evil=np.array([Trap(str(trap))], object))
    assert "pickled objects" in refused(path)
    (tmp_path / "b.npz").write_bytes(pickle.dumps(Trap(str(trap))))
    assert "neither npz nor JSON" in refused(tmp_path / "b.npz")
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        archive.writestr("x.npy", pickle.dumps(Trap(str(trap))))
    assert "no array" in refused(tmp_path / "c.npz")
    assert not trap.exists()


def npy(shape, content: bytes) -> bytes:
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + content


@pytest.mark.parametrize("shape", [(10**13,), (2**40, 2**40), (3,)])
def test_a_header_that_announces_too_much_allocates_nothing(shape, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", npy(shape, bytes(16)))
    assert "cut off" in refused(tmp_path / "a.npz")


def test_bombs_are_refused_before_they_unpack(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "ENTRY_BYTES", 10**5)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", npy((10**6,), bytes(8 * 10**6)))
    assert (tmp_path / "a.npz").stat().st_size < 10**5
    assert "too much" in refused(tmp_path / "a.npz")


def test_all_arrays_together_are_bounded(tmp_path, monkeypatch):
    path = write_npz(tmp_path / "a.npz", {f"x{k}": np.zeros(1000) for k in range(20)})
    monkeypatch.setattr(_files, "TOTAL_BYTES", 100_000)
    assert "too much" in refused(path)
    monkeypatch.setattr(_files, "ENTRIES", 10)
    assert "20 arrays" in refused(path)


def test_an_array_twice_is_refused(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(
        tmp_path / "a.npz", "w"
    ) as archive:  # fmt: skip
        for _ in range(2):
            archive.writestr("x.npy", npy((1,), bytes(8)))
    assert "twice" in refused(tmp_path / "a.npz")


@pytest.mark.parametrize("cut", [30, 200, 700])
def test_a_cut_file_is_damaged(cut, tmp_path):
    whole_file = write_npz(tmp_path / "a.npz", {"x": np.arange(50.0), "y": np.arange(50.0)})
    path = tmp_path / "b.npz"
    path.write_bytes(whole_file.read_bytes()[:cut])
    refused(path)


def test_a_flipped_bit_is_found(tmp_path):
    path = write_npz(tmp_path / "a.npz", {"x": np.arange(50.0)})
    content = bytearray(path.read_bytes())
    content[300] ^= 1
    path.write_bytes(bytes(content))
    assert "damaged" in refused(path)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe\x00", b"[" * 100_000, b"hello", b"PK\x03\x04rubbish"]
)
def test_what_is_neither_is_refused(content, tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    refused(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    assert "does not exist" in refused(tmp_path / "gone.npz")
    assert "cannot read" in refused(tmp_path)
    with pytest.raises(UserError, match="name the files"):
        read_sources([])


def test_a_large_json_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "JSON_BYTES", 10)
    assert "too large" in refused(write_json(tmp_path / "a.json", {"a": "b" * 20}))


def test_every_number_of_an_npz_is_read_as_numpy_reads_it(tmp_path):
    given = {
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "big": np.arange(3, dtype=">f4"),
        "half": np.arange(3, dtype=np.float16),
        "scalar": np.float64(3.5),
        "none": np.zeros((0, 3)),
        "text": np.array(["a", "bc"]),
        "bool": np.array([True, False]),
    }
    for compressed in (np.savez, np.savez_compressed):
        with open(tmp_path / "a", "wb") as handle:
            compressed(handle, **given)
        (source,) = read_sources([tmp_path / "a"])
        assert source.arrays is not None
        for name, value in given.items():
            found = source.arrays[name]
            np.testing.assert_array_equal(found, value)
            assert found.dtype == np.asarray(value).dtype


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1.0), (1.5, 1.5), ("1.5", 1.5), ("np.float32(1.5)", 1.5), ("float64(2)", 2.0),
        ([1.5], 1.5), (True, None), (None, None), ("six", None), ([1, 2], None), ({}, None),
        (10**400, None), ("x" * 100, None),
    ],
)  # fmt: skip
def test_numbers(value, expected):
    assert number(value) == expected


def test_whole_numbers():
    assert [whole(v) for v in (3, 3.0, "3", 3.5, float("nan"), float("inf"))] == [
        3, 3, 3, None, None, None,
    ]  # fmt: skip
