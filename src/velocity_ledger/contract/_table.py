"""The findings as a table of names and checks."""

import dataclasses as dc
import json
from collections.abc import Mapping
from typing import Any

from velocity_ledger._table import aligned
from velocity_ledger.contract._finding import Finding

_MARKS = {"passes": "ok", "fails": "FAIL", "not declared": "-"}
_FEW = 3


@dc.dataclass(frozen=True)
class Table:
    """What every check says of every integrator.

    `findings` are in the order they were made; `checks` maps a check's name to what it means.
    """

    findings: tuple[Finding, ...]
    checks: Mapping[str, str]

    @property
    def forms(self) -> tuple[str, ...]:
        """The integrators, as they were written."""
        return tuple(dict.fromkeys(finding.form for finding in self.findings))

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that fail."""
        return tuple(finding for finding in self.findings if finding.outcome == "fails")

    def finding(self, form: str, check: str) -> Finding:
        """Return what a check found of an integrator; raises KeyError for what was not run."""
        for finding in self.findings:
            if (finding.form, finding.check) == (form, check):
                return finding
        raise KeyError((form, check))

    def to_text(self) -> str:
        """Return the table for a terminal; of few integrators it says why a check was not run."""
        return self._by_check() if len(self.forms) <= _FEW else self._by_form()

    def to_markdown(self) -> str:
        """Return the table in Markdown, integrators by checks."""
        names = list(self.checks)
        lines = [["integrator", *names], ["---", *("---" for _ in names)]]
        lines += [[f"`{form}`", *self._marks(form)] for form in self.forms]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def to_json(self) -> str:
        """Return strict JSON: the checks with their meanings, and every finding."""
        record: dict[str, Any] = {
            "checks": dict(self.checks),
            "findings": [dc.asdict(finding) for finding in self.findings],
            "failures": len(self.failures),
        }
        return json.dumps(record, indent=2, allow_nan=False)

    def summary(self) -> str:
        """Return one line: how many of how many."""
        count = {outcome: 0 for outcome in _MARKS}
        for finding in self.findings:
            count[finding.outcome] += 1
        told = ", ".join(f"{n} {'fail' if o == 'fails' else o}" for o, n in count.items() if n)
        many = "" if len(self.forms) == 1 else "s"
        return f"{len(self.forms)} integrator{many}, {len(self.checks)} checks: {told}"

    def _marks(self, form: str) -> list[str]:
        return [_MARKS[self.finding(form, check).outcome] for check in self.checks]

    def _by_form(self) -> str:
        """Integrators by numbered checks, and what the numbers mean."""
        numbers = [str(k) for k in range(1, len(self.checks) + 1)]
        rows = [["", *numbers], *([form, *self._marks(form)] for form in self.forms)]
        legend = [f"{k:>2}  {name}" for k, name in zip(numbers, self.checks, strict=True)]
        return "\n".join([aligned(rows), "", *legend])

    def _by_check(self) -> str:
        """Checks by integrators."""
        rows = [["", *self.forms]]
        for check in self.checks:
            cells = []
            for form in self.forms:
                found = self.finding(form, check)
                alone = len(self.forms) == 1 and found.outcome == "not declared"
                cells.append(f"- ({found.reason})" if alone else _MARKS[found.outcome])
            rows.append([check, *cells])
        return aligned(rows, left=2 if len(self.forms) == 1 else 1)
