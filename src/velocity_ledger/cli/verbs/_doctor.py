"""Say what is installed here and whether it fits together."""

import dataclasses as dc
import json as _json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from velocity_ledger.cli.verbs._settings import Flag
from velocity_ledger.cli.verbs._verb import Verb

if TYPE_CHECKING:
    from velocity_ledger.doctor import Check

NAME_WIDTH = 17
_STATUSES = ("ok", "warn", "fail")
_COLOURS = {"ok": "32", "warn": "33", "fail": "31"}


@dc.dataclass(frozen=True, kw_only=True)
class Doctor(Verb):
    """Say what is installed, whether it fits together, and the command that mends what does not.

    Versions, devices, huge pages, compile cache, corpus, disk and output. JAX is tried in another
    process, so that nothing here depends on it. Exit status 1 if a check fails.

    For example:
        velocity-ledger doctor --json
    """

    json: Flag = False
    """Strict JSON instead of lines."""

    def platform(self) -> str:
        # What the user's own runs will see.
        return "auto"

    def call(self, command: Sequence[str]) -> int:
        del command
        from velocity_ledger.doctor import examine

        counts: Counter[str] = Counter()
        found = []
        for check in examine():
            counts[check.status] += 1
            found.append(dc.asdict(check))
            if not self.json:
                print(_lines(check), flush=True)
        if self.json:
            summary = {status: counts[status] for status in _STATUSES}
            print(_json.dumps({"checks": found, "summary": summary}, indent=2, allow_nan=False))
        else:
            print(_summary(counts))
        return 1 if counts["fail"] else 0


def _lines(check: "Check") -> str:
    status = check.status.ljust(4)
    if _coloured():
        status = f"\x1b[{_COLOURS[check.status]}m{status}\x1b[0m"
    line = f"{status}  {check.name.ljust(NAME_WIDTH)}  {check.found}"
    if check.mend is None:
        return line
    return f"{line}\n{'':4}  {'':{NAME_WIDTH}}  -> {check.mend}"


def _summary(counts: Counter[str]) -> str:
    total = sum(counts.values())
    if counts["fail"]:
        verdict = "not ready"
    elif counts["warn"]:
        verdict = "ready, with warnings"
    else:
        verdict = "ready"
    tally = ", ".join(f"{counts[status]} {status}" for status in _STATUSES if counts[status])
    return f"{verdict}: {total} checks, {tally}"


def _coloured() -> bool:
    # See no-color.org.
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()
