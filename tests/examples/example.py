"""Running an example as its reader does: a process of its own, from the sources."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(name: str, *arguments: str, cwd: pathlib.Path) -> str:
    """Run `examples/NAME` with every warning of ours an error; return what it printed."""
    source = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    words = [sys.executable, str(ROOT / "examples" / name), *arguments]
    done = subprocess.run(words, cwd=cwd, env=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
