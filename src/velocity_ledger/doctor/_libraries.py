"""Python and the packages, against what this package declares."""

import platform
import sys

from packaging.requirements import Requirement

from velocity_ledger.doctor._check import Check
from velocity_ledger.doctor._declared import NAME, bounds, declared, install, installed

_NEWEST = "3.13"


def python() -> list[Check]:
    """Return the version of Python against `requires-python`, and this package's own version."""
    wanted = declared()
    version = platform.python_version()
    # A release candidate counts as its release.
    fits = wanted.python.contains("{}.{}.{}".format(*sys.version_info[:3]), prereleases=True)
    found = f"{version} ({platform.python_implementation()}; needs {bounds(wanted.python)})"
    mend = None if fits else f"python{_NEWEST} -m venv .venv"
    own = wanted.version if wanted.installed else f"{wanted.version}, from its sources"
    return [Check("Python", "ok" if fits else "fail", found, mend), Check(NAME, "ok", own)]


def packages() -> list[Check]:
    """Return every required package against its bounds."""
    return [_required(word) for word in declared().required]


def extras() -> list[Check]:
    """Return the optional packages: absent is no fault, too old is."""
    found = []
    for _, word in declared().optional:
        if word.extras:  # For a card: that is told by its plugin.
            continue
        if installed(word.name) is None:
            found.append(Check(word.name, "ok", "not installed (optional)", install(word)))
        else:
            found.append(_against_bounds(word, "warn"))
    return found


def _required(word: Requirement) -> Check:
    if installed(word.name) is None:
        needs = bounds(word.specifier) or "any version"
        return Check(word.name, "fail", f"not installed (needs {needs})", install(word))
    return _against_bounds(word, "fail")


def _against_bounds(word: Requirement, otherwise: str) -> Check:
    version = installed(word.name)
    assert version is not None
    # A user who installed a pre-release meant it.
    if word.specifier.contains(version, prereleases=True):
        return Check(word.name, "ok", f"{version} ({bounds(word.specifier)})")
    status = "warn" if otherwise == "warn" else "fail"
    found = f"{version} is outside {bounds(word.specifier)}"
    return Check(word.name, status, found, install(word))
