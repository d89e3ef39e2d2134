"""Write docs/contract.json: what the contract suite finds, by registered name and check.

The documentation shows it, and the tests hold it against what they find themselves.

    python scripts/contract_rows.py
"""

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0:1] = [str(ROOT / "src"), str(ROOT / "tests")]
os.environ.setdefault("JAX_PLATFORMS", "cpu")
TARGET = ROOT / "docs" / "contract.json"


def main() -> int:
    from integrators.numpy_reference import STATES  # pyright: ignore[reportMissingImports]
    from velocity_ledger.contract import Subject, examine
    from velocity_ledger.integrators import names

    subjects = [Subject(name, reference=STATES[name]) for name in names()]
    rows: dict[str, dict[str, str]] = {name: {} for name in names()}
    for finding in examine(subjects).findings:
        told = f"{finding.outcome}: {finding.reason}" if finding.reason else finding.outcome
        rows[finding.form][finding.check] = told
        if finding.outcome == "fails":
            print(f"{finding.form}, {finding.check}: {told}", file=sys.stderr)
    TARGET.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"{TARGET.relative_to(ROOT)}: {len(rows)} names")
    return 0


if __name__ == "__main__":
    sys.exit(main())
