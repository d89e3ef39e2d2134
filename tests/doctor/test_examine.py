"""All checks together: a check that cannot be made is a finding."""

import importlib
import sys

from velocity_ledger.doctor import _examine, examine


def test_a_part_without_its_package_has_failed_with_the_command(monkeypatch):
    for name in [n for n in sys.modules if n.startswith("packaging")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "packaging", None)
    monkeypatch.delitem(sys.modules, "velocity_ledger.doctor._declared", raising=False)
    monkeypatch.delitem(sys.modules, "velocity_ledger.doctor._libraries", raising=False)
    (check,) = _examine._guarded("packages", "_libraries", "packages")
    assert check.status == "fail"
    assert check.found.startswith("cannot be checked (ModuleNotFoundError: ")
    assert check.mend == "pip install packaging"


def test_a_part_that_breaks_has_failed_in_one_line(monkeypatch):
    def explode():
        raise ValueError("two\nlines")

    module = importlib.import_module("velocity_ledger.doctor._machine")
    monkeypatch.setattr(module, "output", explode)
    (check,) = _examine._guarded("output", "_machine", "output")
    assert (check.status, check.found) == ("fail", "cannot be checked (ValueError: two lines)")


def test_a_break_in_one_part_keeps_the_others(monkeypatch):
    parts = (("x", "_nowhere", "f"), ("output", "_machine", "output"))
    monkeypatch.setattr(_examine, "_PARTS", parts)
    first, second = examine()
    assert first.status == "fail" and first.name == "x"
    assert second.name == "output"
