"""Shared set-up: a compilation cache, files in memory, and the long files first."""

import itertools
import os
import pathlib
import shutil
import signal
import sys
import tempfile
from collections import Counter

import hypothesis
import pytest

# A suite started in the background inherits that SIGINT is ignored, and so would every command
# that a test interrupts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_CACHE = pathlib.Path(tempfile.gettempdir()) / f"velocity-ledger-test-cache-{os.getuid()}"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("MPLBACKEND", "Agg")

# Every file of a run is synced, for which a disk takes tens of milliseconds, thousands of times.
_MEMORY = pathlib.Path("/dev/shm")
if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 4 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

# On a busy machine a compilation takes any time; and what lands must not depend on a draw.
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True)
hypothesis.settings.load_profile("repeatable")

_TESTS = pathlib.Path(__file__).resolve().parent
_LONG = (
    "contract/test_suite.py",
    "experiment/test_run.py",
    "docs/test_pages.py",
    "experiment/test_sweep.py",
    "report/test_figures.py",
    "model/test_gpt.py",
    "model/test_blocks.py",
    "report/test_motion.py",
    "training/test_train.py",
    "model/test_ngpt.py",
    "telemetry/test_measure.py",
    "report/test_page_browser.py",
    "model/test_streams.py",
    "report/test_render.py",
    "model/test_generate.py",
    "examples/test_corpus_to_finding.py",
    "cli/test_verbs.py",
    "experiment/test_samples.py",
    "training/test_kills.py",
    "examples/test_momentum_resnet.py",
    "experiment/test_learned.py",
    "exchange/test_published.py",
)
"""What takes longest, whatever the number of its tests: begun last, one would be waited for."""


def pytest_collection_modifyitems(items):
    places = {_TESTS / name: place for place, name in enumerate(_LONG)}
    gone = [str(path) for path in places if not path.is_file()]
    assert not gone, f"no such file: {', '.join(gone)}"
    sizes = Counter(item.path for item in items)
    # Sorting is stable: within a file all stays as it is.
    items.sort(key=lambda item: (places.get(item.path, len(places)), -sizes[item.path], item.path))


_PARTS = pathlib.Path("/proc/self/maps")
_MANY_PARTS = 20_000
_finished = itertools.count(1)


@pytest.hookimpl(trylast=True)  # What a test patched is as it was.
def pytest_runtest_teardown():
    """Let compiled programs go before the system's limit on a process's pieces of memory.

    Linux gives a process 65,530, a program takes four, and past the limit XLA crashes.
    """
    if next(_finished) % 20 or "jax" not in sys.modules or not _PARTS.exists():
        return
    if _PARTS.read_bytes().count(b"\n") > _MANY_PARTS:
        sys.modules["jax"].clear_caches()
