"""The version triangle, with metadata made up."""

import sys

import pytest

from velocity_ledger.doctor._fit import fit


@pytest.mark.parametrize(
    ("python", "flax", "jax", "says"),
    [
        ((3, 11), "0.12.8", "0.10.2", None),
        ((3, 13), "0.12.12", "0.12.0", None),
        ((3, 12), "0.12.9", "0.11.1", None),
        ((3, 12), "0.12.8", "0.11.0", "flax 0.12.8 cannot be imported with jax 0.11.0: "),
        ((3, 12), "0.12.8", "0.11.1", "flax 0.12.8 cannot be imported with jax 0.11.1: "),
        ((3, 12), "0.12.9", "0.11.0", "flax 0.12.9 cannot be imported with jax 0.11.0: "),
        ((3, 12), "0.12.9", "0.10.2", "flax 0.12.9 cannot be imported with jax 0.10.2: "),
        ((3, 11), "0.12.9", "0.11.1", "flax 0.12.9 needs Python >=3.12"),
    ],
)
def test_the_triangle(install, monkeypatch, python, flax, jax, says):
    install("flax", flax)
    install("jax", jax)
    install("jaxlib", jax)
    monkeypatch.setattr(sys, "version_info", (*python, 0, "final", 0))
    (check,) = fit()
    if says is None:
        assert check.status == "ok" and check.mend is None
        assert flax in check.found and jax in check.found
        return
    assert check.status == "fail"
    assert check.found.startswith(says)
    assert check.mend is not None
    assert check.mend.startswith('pip install "jax>=') and '"flax>=' in check.mend


def test_what_the_packages_ask_of_each_other(install, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 12, 0, "final", 0))
    install("flax", "0.12.9", ["Requires-Dist: jax>=0.11.1"])
    install("jax", "0.11.1", ["Requires-Dist: jaxlib<=0.11.1,>=0.11.1"])
    install("jaxlib", "0.11.0")
    (check,) = fit()
    assert check.status == "fail"
    assert check.found == "jax 0.11.1 asks for jaxlib<=0.11.1,>=0.11.1, installed is jaxlib 0.11.0"
    assert check.mend == 'pip install "jaxlib>=0.11.1,<=0.11.1"'


def test_what_is_missing_is_named(install):
    install("flax", None)
    install("jaxlib", None)
    (check,) = fit()
    assert check.status == "fail"
    assert check.found == "jaxlib and flax are not installed"
    assert check.mend is not None and check.mend.startswith("pip install ")
