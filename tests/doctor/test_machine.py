"""Memory, caches, disk, clock, standard output."""

import datetime as dt
import io
import os
import shutil
import sys
import typing

import pytest

from velocity_ledger import _pages
from velocity_ledger.doctor import _machine
from velocity_ledger.doctor._check import size
from velocity_ledger.doctor._machine import (
    clock,
    compile_cache,
    disk,
    huge_pages,
    nearest,
    output,
)


@pytest.mark.parametrize("state", typing.get_args(_pages.Pages))
def test_every_state_of_the_pages_is_told(monkeypatch, state):
    monkeypatch.setattr(_pages, "state", lambda: state)
    (check,) = huge_pages()
    assert check.status == ("warn" if state in ("never", "tuned") else "ok")
    assert check.status == "ok" or check.mend


def test_a_compile_cache_is_optional(monkeypatch):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    (check,) = compile_cache()
    assert check.status == "ok" and "not set" in check.found
    assert check.mend is not None and check.mend.startswith("export JAX_COMPILATION_CACHE_DIR=")


def test_a_compile_cache_is_counted(monkeypatch, tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a").write_bytes(bytes(1000))
    (tmp_path / "deep" / "b").write_bytes(bytes(1048))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    (check,) = compile_cache()
    assert check.status == "ok"
    assert check.found == f"{tmp_path}, 2 files, 2.0 KiB"


@pytest.mark.parametrize(
    ("place", "status", "says"),
    [
        ("new/er", "ok", "not there yet"),
        ("file", "warn", "is no folder"),
        ("file/below", "warn", "is no folder"),
    ],
)
def test_a_compile_cache_that_cannot_be_made_is_a_warning(
    monkeypatch, tmp_path, place, status, says
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / place))
    (check,) = compile_cache()
    assert check.status == status and says in check.found
    assert (check.mend is not None) == (status == "warn")


def test_a_compile_cache_that_cannot_be_written_is_a_warning(monkeypatch, tmp_path):
    monkeypatch.setattr(_machine.os, "access", lambda path, mode: False)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    (check,) = compile_cache()
    assert check.status == "warn" and "cannot be written" in check.found


def test_a_remote_compile_cache_is_left_alone(monkeypatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "gs://bucket/cache")
    assert compile_cache()[0].status == "ok"


@pytest.mark.parametrize(
    ("free", "status"), [(2**40, "ok"), (2**30, "warn"), (2**20, "fail"), (0, "fail")]
)
def test_a_full_disk_is_told_before_it_is_full(monkeypatch, tmp_path, free, status):
    monkeypatch.setenv("VELOCITY_LEDGER_CACHE", str(tmp_path / "not" / "yet"))
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    here, cache = disk()
    assert here.status == cache.status == status
    assert str(tmp_path) in cache.found
    assert (here.mend is None) == (status == "ok")


@pytest.mark.parametrize(("days", "status"), [(-400, "ok"), (0.5, "ok"), (3, "warn")])
def test_a_clock_that_is_behind_is_a_warning(monkeypatch, tmp_path, days, status):
    file = tmp_path / "installed.py"
    file.write_text("")
    then = dt.datetime.now() + dt.timedelta(days=days)
    os.utime(file, (then.timestamp(), then.timestamp()))
    monkeypatch.setattr(_machine, "__file__", str(file))
    (check,) = clock()
    assert check.status == status
    assert (f"installed, {then:%Y-%m-%d}" in check.found) == (status == "warn")
    assert (check.mend is None) == (status == "ok")


@pytest.mark.parametrize(
    ("encoding", "status"), [("utf-8", "ok"), ("UTF8", "ok"), ("ascii", "warn"), ("cp1252", "warn")]
)
def test_the_encoding_of_the_output(monkeypatch, encoding, status):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    (check,) = output()
    assert check.status == status
    assert (check.mend is None) == (status == "ok")


def test_no_output_at_all(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert output()[0].status == "ok"


def test_the_nearest_folder_that_is_there(tmp_path):
    assert nearest(tmp_path) == tmp_path
    assert nearest(tmp_path / "a" / "b") == tmp_path


def test_sizes_are_for_a_reader():
    assert [size(n) for n in (0, 1023, 1024, 5 * 2**20, 3 * 2**40)] == [
        "0 bytes",
        "1023 bytes",
        "1.0 KiB",
        "5.0 MiB",
        "3.0 TiB",
    ]
