"""Half files, full disks, unwritable folders and two processes on one run."""

import errno
import os
import pathlib
import subprocess
import sys

import pytest

from velocity_ledger.errors import UserError
from velocity_ledger.experiment._files import (
    clear_asides,
    is_disk_full,
    locked,
    try_folder,
    write_aside,
)


def test_write_aside_replaces_in_one_step(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write(aside: pathlib.Path) -> None:
        assert path.read_text() == "old"
        aside.write_text("half")
        assert path.read_text() == "old"
        aside.write_text("new")

    write_aside(path, write)
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_failed_write_keeps_the_old_file_and_leaves_nothing(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write(aside: pathlib.Path) -> None:
        aside.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space"):
        write_aside(path, write)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_what_killed_writers_left_is_cleared(tmp_path):
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / ".data.nc.123.part").write_text("half")
    (tmp_path / "cells" / "data.nc").write_text("whole")
    clear_asides(tmp_path)
    assert [p.name for p in (tmp_path / "cells").iterdir()] == ["data.nc"]


def test_unwritable_folder_fails_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot write to .*file.*--out"):
        try_folder(tmp_path / "file" / "run")


def test_try_folder_leaves_no_trace(tmp_path):
    try_folder(tmp_path / "deep" / "run")
    assert os.listdir(tmp_path / "deep" / "run") == []


def test_disk_full_is_seen_through_wrapping_errors():
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    try:
        raise ValueError("could not save") from full
    except ValueError as wrapped:
        assert is_disk_full(wrapped)
    assert is_disk_full(RuntimeError("RESOURCE_EXHAUSTED: No space left on device"))
    assert is_disk_full(OSError(errno.EDQUOT, "quota"))
    assert not is_disk_full(OSError(errno.EACCES, "denied"))
    assert not is_disk_full(None)


_HOLD = """
import pathlib, sys, time
from velocity_ledger.experiment._files import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_refused_and_a_dead_one_is_not_in_the_way(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    ) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            with pytest.raises(UserError, match=f"pid {other.pid}.*is writing"), locked(tmp_path):
                pass
        finally:
            other.kill()
            other.wait()
    with locked(tmp_path):
        assert (tmp_path / ".lock").read_text() == str(os.getpid())
