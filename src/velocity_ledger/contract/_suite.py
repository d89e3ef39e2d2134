"""All checks in their order, and running them."""

import inspect
from collections.abc import Callable, Iterable, Sequence

from velocity_ledger.contract import (
    _apart,
    _claims,
    _gpt,
    _memory,
    _parts,
    _path,
    _pieces,
    _program,
)
from velocity_ledger.contract._finding import Broken, Finding, NotDeclared
from velocity_ledger.contract._subject import Subject, one_line
from velocity_ledger.contract._table import Table
from velocity_ledger.errors import UserError

Check = Callable[[Subject], None]

CHECKS: tuple[Check, ...] = (
    _path.text_form,
    _path.rests_without_fields,
    _path.steps_add_up,
    _path.velocity_moves,
    _path.agrees_with_numpy,
    _program.keeps_structure,
    _program.finite_everywhere,
    _program.scan_is_loop,
    _program.numbers_are_data,
    _program.sweep_is_each,
    _memory.memory_changes,
    _memory.memory_is_read,
    _memory.every_number_acts,
    _memory.every_parameter_is_heard,
    _memory.every_field_is_heard,
    _apart.samples_are_apart,
    _apart.tokens_are_apart,
    _apart.draws_are_fresh,
    _pieces.pieces_are_the_batch,
    _claims.stays_in_its_space,
    _claims.can_be_undone,
    _claims.reduces_as_declared,
    _claims.has_its_order,
    _claims.uses_its_layer,
    _parts.kinds_are_apart,
    _parts.coasts_to_rest,
    _gpt.no_token_sees_the_next,
)


def title(check: Check) -> str:
    """Return a check's name in words."""
    return check.__name__.replace("_", " ")


def meaning(check: Check) -> str:
    """Return the sentence that says what a check means."""
    return " ".join((inspect.getdoc(check) or "").split("\n\n")[0].split())


def run_check(check: Check, subject: Subject) -> Finding:
    """Return what a check finds; whatever it raises is a finding."""
    name, form = title(check), subject.name
    try:
        check(subject)
    except NotDeclared as reason:
        return Finding(form, name, "not declared", str(reason))
    except Broken as reason:
        return Finding(form, name, "fails", str(reason))
    except (Exception, SystemExit) as error:  # a user's own step may raise anything
        return Finding(form, name, "fails", one_line(error))
    return Finding(form, name, "passes")


def examine(
    integrators: Iterable[Subject | str],
    checks: Sequence[Check] = CHECKS,
    told: Callable[[Finding], None] | None = None,
) -> Table:
    """Run checks on integrators, given as text forms or subjects, and return the table.

    `told` hears every finding when it is made. Raises `UserError` for a form that cannot be read.
    """
    # All are read before the first is run: a mistake in the last word costs a second.
    subjects = [s if isinstance(s, Subject) else Subject(s) for s in integrators]
    if not subjects:
        raise UserError("name an integrator to check")
    findings = []
    for subject in subjects:
        for check in checks:
            findings.append(run_check(check, subject))
            if told is not None:
                told(findings[-1])
    return Table(tuple(findings), {title(check): meaning(check) for check in checks})
