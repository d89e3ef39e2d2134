"""Every registered integrator, and settings of some, keeps the contract."""

import functools
import json
import pathlib

import pytest

import velocity_ledger as vl
from integrators import numpy_reference
from velocity_ledger.contract import CHECKS, NotDeclared, Subject, title
from velocity_ledger.contract._suite import run_check

FORMS = tuple(numpy_reference.STATES)
ROWS = json.loads(
    (pathlib.Path(__file__).parents[2] / "docs" / "contract.json").read_text(encoding="utf-8")
)


@functools.cache
def subject(form):
    return Subject(form, reference=numpy_reference.STATES[form])


def test_every_registered_name_has_its_equation():
    assert set(vl.names()) <= set(FORMS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("check", CHECKS, ids=[check.__name__ for check in CHECKS])
def test_contract(form, check):
    told = "passes"
    try:
        check(subject(form))
    except NotDeclared as reason:
        # What it does not claim it cannot break; why, it says.
        assert str(reason)
        told = f"not declared: {reason}"
    if form in vl.names():
        # What the documentation shows; `python scripts/contract_rows.py` writes it anew.
        assert ROWS[form][title(check)] == told


@pytest.mark.parametrize(
    ("check", "claims"),
    [
        ("stays_in_its_space", {"ngpt-lite", "ngpt-ledger", "riemannian-ledger", "ngpt-step"}),
        ("can_be_undone", {"ledger", "leapfrog", "midpoint", "polyak-shear", "staggered"}),
        ("has_its_order", {"plain", "adams-bashforth", "heun", "rk4", "midpoint", "ledger"}),
        ("reduces_as_declared", {"ledger", "ngpt-ledger", "nesterov", "bdia", "learned-ledger"}),
    ],
)
def test_what_is_claimed_is_tried(check, claims):
    """A claim that is lost would be a check that is never run."""
    (tried,) = [c for c in CHECKS if c.__name__ == check]
    for form in claims:
        tried(subject(form))


def test_a_step_that_ends_the_program_is_a_finding():
    def leaves(subject):
        raise SystemExit(0)

    found = run_check(leaves, Subject("plain"))
    assert (found.outcome, found.reason) == ("fails", "SystemExit: 0")
