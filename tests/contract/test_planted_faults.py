"""The contract suite tried against faults planted on purpose: each has a check that fails.

A check that no fault can fail proves nothing, so every check stands here with one that it catches.
"""

import pytest

from contract.planted import FAULTS
from velocity_ledger.contract import CHECKS, run_check


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_a_planted_fault_is_caught(fault):
    subject = fault.subject()
    for check in fault.checks:
        finding = run_check(check, subject)
        assert finding.outcome == "fails", (check.__name__, finding)
        assert finding.reason and "\n" not in finding.reason


def test_every_check_has_a_fault_that_it_catches():
    caught = {check for fault in FAULTS for check in fault.checks}
    assert caught == set(CHECKS)
