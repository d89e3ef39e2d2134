"""Which planted fault is caught by which check of the contract suite, as a table.

    python scripts/planted_faults.py [--markdown] [FAULT ...]

The faults stand in tests/contract/faults.py. Exit status 1 if one is not caught by the checks that
must catch it.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0:1] = [str(ROOT / "src"), str(ROOT / "tests")]
os.environ.setdefault("JAX_PLATFORMS", "cpu")


def main(words: list[str]) -> int:
    from contract.planted import FAULTS  # pyright: ignore[reportMissingImports]
    from velocity_ledger.contract import examine, title

    wanted = [word for word in words if not word.startswith("-")]
    faults = [fault for fault in FAULTS if not wanted or fault.name in wanted]
    if not faults:
        print(f"no fault is named {', '.join(wanted)}", file=sys.stderr)
        return 2
    table = examine([fault.subject() for fault in faults])
    print(table.to_markdown() if "--markdown" in words else table.to_text())
    print()
    missed = 0
    for fault, form in zip(faults, table.forms, strict=True):
        failed = {f.check: f.reason for f in table.failures if f.form == form}
        for check in fault.checks:
            name = title(check)
            missed += name not in failed
            print(f"{fault.name}: {name}: {failed.get(name, 'NOT CAUGHT')}")
    print(f"{len(faults)} faults, {missed} not caught by a check that must catch them")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
