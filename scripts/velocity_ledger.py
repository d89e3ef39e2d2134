"""The article's entry point: its four variants at its configuration, by the package's command.

    python scripts/velocity_ledger.py --seeds 0

takes every other option of `velocity-ledger compare`, too.
"""

import sys
from pathlib import Path

# This file has the package's name, and Python looks in its folder first.
_HERE = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _HERE]

from velocity_ledger.cli import run  # noqa: E402

if __name__ == "__main__":
    sys.argv[1:1] = ["compare", "--preset", "paper"]
    run()
