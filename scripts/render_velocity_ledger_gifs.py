"""The article's second entry point: the figures and animations of a run, from its folder.

    python scripts/render_velocity_ledger_gifs.py runs/paper

takes every option of `velocity-ledger render`, which it is.
"""

import sys
from pathlib import Path

# The script beside this one has the package's name, and Python looks in their folder first.
_HERE = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _HERE]

from velocity_ledger.cli import run  # noqa: E402

if __name__ == "__main__":
    sys.argv[1:1] = ["render"]
    run()
