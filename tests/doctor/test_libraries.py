"""Python and the packages against what is declared, with metadata made up."""

import sys

import pytest
from packaging.requirements import Requirement

from velocity_ledger.doctor._declared import (
    bounds,
    declared,
    install as command,
    install_extra,
    installed,
)
from velocity_ledger.doctor._libraries import extras, packages, python
from velocity_ledger.doctor._plugins import accelerators, plugins

OWN = (
    "Requires-Python: >=3.11,<3.14",
    "Requires-Dist: jax>=0.11.1,<0.13",
    "Requires-Dist: flax>=0.12.9,<0.13; python_version >= '3.11'",
    "Requires-Dist: flax>=99; python_version < '3.11'",
    "Requires-Dist: tensorboardX>=2.6; extra == 'tensorboard'",
    "Provides-Extra: tensorboard",
)


@pytest.fixture
def own(install):
    install("velocity-ledger", "9.9", OWN)
    install("jax", "0.12.0")
    install("flax", "0.12.9")
    install("tensorboardX", "2.6.5")


def of(checks):
    return {check.name: check for check in checks}


def test_every_requirement_of_this_python_is_checked_once(own):
    found = of(packages())
    assert {name: check.status for name, check in found.items()} == {"jax": "ok", "flax": "ok"}
    assert found["jax"].found == "0.12.0 (>=0.11.1,<0.13)"
    assert found["jax"].mend is None


@pytest.mark.parametrize("version", ["0.11.0", "0.13.0", "0.10.2"])
def test_a_version_outside_the_bounds_fails_with_its_command(install, version):
    install("velocity-ledger", "9.9", OWN)
    install("jax", version)
    check = of(packages())["jax"]
    assert check.status == "fail"
    assert check.found == f"{version} is outside >=0.11.1,<0.13"
    assert check.mend == 'pip install "jax>=0.11.1,<0.13"'


def test_a_missing_package_fails_with_its_command(own, install):
    install("flax", None)
    check = of(packages())["flax"]
    assert check.status == "fail" and "not installed" in check.found
    assert check.mend == 'pip install "flax>=0.12.9,<0.13"'


def test_a_package_without_a_version_counts_as_missing(own, tmp_path):
    (tmp_path / "site" / "jax-0.12.0.dist-info" / "METADATA").write_text("Name: jax\n")
    assert installed("jax") is None


def test_a_pre_release_that_was_installed_was_meant(install):
    install("velocity-ledger", "9.9", OWN)
    install("jax", "0.12.1rc1")
    assert of(packages())["jax"].status == "ok"


def test_an_extra_is_no_fault_when_absent_and_a_warning_when_old(own, install, monkeypatch):
    assert of(extras())["tensorboardX"].status == "ok"
    install("tensorboardX", None)
    check = of(extras())["tensorboardX"]
    assert check.status == "ok" and "optional" in check.found
    assert check.mend == 'pip install "tensorboardX>=2.6"'


def test_an_old_extra_is_a_warning(install):
    install("velocity-ledger", "9.9", OWN)
    install("tensorboardX", "2.0")
    assert of(extras())["tensorboardX"].status == "warn"


@pytest.mark.parametrize(
    ("version", "status"),
    [((3, 10, 9), "fail"), ((3, 11, 0), "ok"), ((3, 13, 4), "ok"), ((3, 14, 0), "fail")],
)
def test_python_is_held_against_its_bounds(own, monkeypatch, version, status):
    monkeypatch.setattr(sys, "version_info", (*version, "final", 0))
    checks = of(python())
    assert checks["Python"].status == status
    assert (checks["Python"].mend is None) == (status == "ok")
    assert ">=3.11,<3.14" in checks["Python"].found
    assert checks["velocity-ledger"].found == "9.9"


def test_sources_without_an_installation_are_read(install):
    install("velocity-ledger", None)
    found = declared()
    assert not found.installed
    names = {word.name for word in found.required}
    assert {"jax", "flax", "packaging"} <= names
    assert [word.name for word in found.required].count("jax") == 1
    assert {word.name for _, word in found.optional} == {"jax", "tensorboardX", "wandb"}


def test_commands_are_quoted_and_lower_bounds_first():
    word = Requirement("jax<0.13,!=0.12.5,>=0.11.1")
    assert bounds(word.specifier) == "!=0.12.5,>=0.11.1,<0.13"
    assert command(Requirement("a<2,>=1"), Requirement("b")) == 'pip install "a>=1,<2" "b"'


def test_an_extra_s_command_names_what_it_asks_for(install):
    more = [
        *OWN,
        "Provides-Extra: cuda",
        "Requires-Dist: jax[cuda12]<0.13,>=0.11.1; extra == 'cuda'",
    ]
    install("velocity-ledger", "9.9", more)
    assert install_extra("cuda") == 'pip install "jax[cuda12]>=0.11.1,<0.13"'
    assert install_extra("none") == 'pip install "velocity-ledger[none]"'
    # It is no package of its own: its plugin is looked for.
    assert list(of(extras())) == ["tensorboardX"]


def test_the_declared_extra_for_cuda_has_the_bounds_of_jax():
    found = declared()
    (jax,) = [word for word in found.required if word.name == "jax"]
    (cuda,) = [word for name, word in found.optional if name == "cuda"]
    assert cuda.extras == {"cuda12"} and cuda.specifier == jax.specifier


PLUGINS = (
    "Requires-Dist: jaxlib<=0.12.0,>=0.12.0",
    "Requires-Dist: jax-cuda12-plugin[with-cuda]<=0.12.0,>=0.12.0; extra == 'cuda12'",
    "Requires-Dist: jax-cuda13-plugin<=0.12.0,>=0.12.0; extra == 'cuda13-local'",
)


def test_no_plugin_for_a_card_is_no_fault(own):
    (check,) = accelerators()
    assert check.status == "ok" and check.mend is not None and check.mend.startswith("pip install")


@pytest.mark.parametrize(
    ("version", "status", "mend"),
    [
        ("0.12.0", "ok", None),
        ("0.11.1", "warn", 'pip install "jax-cuda13-plugin>=0.12.0,<=0.12.0"'),
    ],
)
def test_a_plugin_is_held_against_what_jax_asks_for(install, version, status, mend):
    install("jax", "0.12.0", PLUGINS)
    install("jax-cuda13-plugin", version)
    (check,) = accelerators()
    assert (check.name, check.status, check.mend) == ("jax-cuda13-plugin", status, mend)
    assert check.found.startswith(version)


def test_the_jax_that_is_installed_names_its_plugins():
    assert {"jax-cuda12-plugin", "jax-cuda13-plugin"} <= {plugin.name for plugin in plugins()}
