"""Shared set-up: a compilation cache, so that a second run of the suite compiles nothing."""

import os
import pathlib
import signal
import tempfile

# A suite started in the background inherits that SIGINT is ignored, and so would every command
# that a test interrupts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_CACHE = pathlib.Path(tempfile.gettempdir()) / f"velocity-ledger-test-cache-{os.getuid()}"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("MPLBACKEND", "Agg")
