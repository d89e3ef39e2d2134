"""Running an example as its reader does: a process of its own, from the sources."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(name: str, *arguments: str, cwd: pathlib.Path) -> tuple[str, str]:
    """Run `examples/NAME`; return what it printed and the log, which tells what JAX compiled."""
    source = os.environ | {"PYTHONPATH": str(ROOT / "src"), "JAX_LOG_COMPILES": "1"}
    words = [sys.executable, str(ROOT / "examples" / name), *arguments]
    done = subprocess.run(words, cwd=cwd, env=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr
