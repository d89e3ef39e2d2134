"""The contract of an integrator as a suite of checks, for named ones and for a user's own.

A check is a function of a `Subject`. It returns where the rule is kept, raises `Broken` where it is
not and `NotDeclared` where the integrator claims nothing that could be tried.

    table = examine(["ledger", "./mine.py:Mine"])
    print(table.to_text())
"""

from velocity_ledger.contract._finding import (
    Broken as Broken,
    Finding as Finding,
    NotDeclared as NotDeclared,
)
from velocity_ledger.contract._subject import Subject as Subject
from velocity_ledger.contract._suite import (
    CHECKS as CHECKS,
    Check as Check,
    examine as examine,
    meaning as meaning,
    run_check as run_check,
    title as title,
)
from velocity_ledger.contract._table import Table as Table
