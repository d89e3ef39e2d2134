"""Every registered integrator, and settings of some, keeps the contract."""

import functools
import json
import pathlib

import jax
import pytest

import velocity_ledger as vl
from integrators import numpy_reference
from velocity_ledger.contract import CHECKS, NotDeclared, Subject, title
from velocity_ledger.contract._suite import run_check

FORMS = tuple(numpy_reference.STATES)
NAMES = frozenset(vl.names())
# What reads the one path that NumPy's is compared with: a setting costs one program.
ON_THE_PATH = frozenset(
    {
        "text_form",
        "rests_without_fields",
        "steps_add_up",
        "velocity_moves",
        "agrees_with_numpy",
        "keeps_structure",
        "numbers_are_data",
        "memory_changes",
        "stays_in_its_space",
    }
)
# Settings with a part that no registered name has: a schedule, a correction, another start.
IN_FULL = frozenset(
    {
        "ledger(mu=table((0.1, 0.9, 0.5, -0.5, 0.7, 0.2)))",
        "ledger(debias=True)",
        "midpoint(start='bootstrap')",
    }
)
ROWS = json.loads(
    (pathlib.Path(__file__).parents[2] / "docs" / "contract.json").read_text(encoding="utf-8")
)


@functools.cache
def subject(form):
    return Subject(form, reference=numpy_reference.STATES[form])


def test_every_registered_name_has_its_equation():
    assert set(FORMS) >= NAMES


def is_a_names_program(form):
    """Whether a form is a registered name with other numbers, or none: it compiles nothing anew."""
    base = form.partition("(")[0]
    shapes = [jax.tree.structure(vl.parse(text)) for text in (form, base) if base in NAMES]
    return len(set(shapes)) == 1


def every_check_of_every_form():
    """All checks, form by form; of settings that others stand for, those on its path are fast."""
    for form in FORMS:
        whole = form in IN_FULL or is_a_names_program(form)
        for check in CHECKS:
            fast = whole or check.__name__ in ON_THE_PATH
            marks = () if fast else (pytest.mark.slow,)
            yield pytest.param(form, check, id=f"{check.__name__}-{form}", marks=marks)


def test_every_name_and_settings_with_parts_of_their_own_are_fast_in_full():
    assert set(FORMS) >= IN_FULL
    assert {check.__name__ for check in CHECKS} >= ON_THE_PATH
    assert all(is_a_names_program(name) for name in NAMES)


@pytest.mark.parametrize(("form", "check"), list(every_check_of_every_form()))
def test_contract(form, check):
    told = "passes"
    try:
        check(subject(form))
    except NotDeclared as reason:
        # What it does not claim it cannot break; why, it says.
        assert str(reason)
        told = f"not declared: {reason}"
    if form in NAMES:
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
