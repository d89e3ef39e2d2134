"""Memory, caches, disk, clock, standard output."""

import datetime as dt
import io
import os
import shutil
import sys
import typing

import pytest

from velocity_ledger import machine
from velocity_ledger._files import nearest
from velocity_ledger.doctor import _machine
from velocity_ledger.doctor._check import size
from velocity_ledger.doctor._machine import (
    clock,
    compile_cache,
    disk,
    huge_pages,
    output,
)
from velocity_ledger.machine import Allocator, CompileCache
from velocity_ledger.machine._allocator import Pages


@pytest.mark.parametrize("pages", typing.get_args(Pages))
def test_every_state_of_the_pages_is_told(monkeypatch, pages):
    memory = Allocator(pages, "glibc 2.36", "madvise", "glibc.malloc.check=1")
    monkeypatch.setattr(machine, "allocator", lambda: memory, raising=False)
    (check,) = huge_pages()
    assert check.status == ("warn" if pages in ("never", "tuned") else "ok")
    assert check.status == "ok" or check.mend
    told = "(glibc 2.36, kernel: madvise, GLIBC_TUNABLES=glibc.malloc.check=1)"
    assert check.found.endswith(told)


def test_a_system_without_them_is_told(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    (check,) = huge_pages()
    assert check.status == "ok" and check.mend is None
    assert check.found.startswith("nothing is set") and check.found.endswith("(darwin)")


def test_a_compile_cache_is_told(monkeypatch, tmp_path):
    monkeypatch.delenv("JAX_ENABLE_COMPILATION_CACHE", raising=False)
    monkeypatch.delenv("JAX_COMPILATION_CACHE_MAX_SIZE", raising=False)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    (tmp_path / "a-cache").write_bytes(bytes(1000))
    (tmp_path / "a-atime").write_bytes(bytes(8))
    (tmp_path / "b-cache").write_bytes(bytes(1048))
    (check,) = compile_cache()
    assert check.status == "ok"
    assert check.found == f"in use: {tmp_path}, 2 programs, 2.0 KiB"
    monkeypatch.setenv("JAX_COMPILATION_CACHE_MAX_SIZE", "4096")
    assert compile_cache()[0].found.endswith("2 programs, 2.0 KiB of at most 4.0 KiB")
    monkeypatch.setenv("JAX_ENABLE_COMPILATION_CACHE", "false")
    (check,) = compile_cache()
    assert check.status == "ok" and check.mend is None
    assert check.found.startswith("switched off") and "=false" in check.found


@pytest.mark.parametrize(
    ("use", "status", "says"), [("used", "ok", "remote"), ("unusable", "warn", "cannot be written")]
)
def test_a_compile_cache_out_of_reach_is_told(monkeypatch, use, status, says):
    reason = "x cannot be written" if use == "unusable" else None
    cache = CompileCache("gs://x", use, reason, None, 0, 0)
    monkeypatch.setattr(machine, "compile_cache", lambda: cache, raising=False)
    (check,) = compile_cache()
    assert check.status == status and says in check.found
    assert (check.mend is not None) == (status == "warn")


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
