"""The probe's process: what it sees, and every way in which it can end badly."""

import textwrap

import pytest

from velocity_ledger.doctor import _jax
from velocity_ledger.doctor._jax import Outcome, at_work, devices, probe, work

DONE = Outcome("done", None, (("cpu", "cpu"),), "cpu", 1.0)


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Put a package `jax` of this source before the real one."""

    def put(source: str) -> None:
        (tmp_path / "jax").mkdir()
        (tmp_path / "jax" / "__init__.py").write_text(textwrap.dedent(source))
        monkeypatch.syspath_prepend(str(tmp_path))

    return put


def test_the_real_jax_works():
    product, seen = at_work()
    assert product.status == "ok", product.found
    assert "compiled product is right" in product.found
    assert seen.found.startswith("1 x cpu")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("raise ImportError('no\\n  core')", "importing jax: ImportError: no core"),
        ("import os; os.abort()", "importing jax: ended by SIGABRT"),
        ("import sys; sys.exit('enough')", "importing jax: exit status 1, enough"),
        ("import os; os._exit(0)", "importing jax: ended without a word"),
    ],
)
def test_an_import_that_fails_or_crashes_is_a_line(fake, source, says):
    fake(source)
    product, seen = at_work()
    assert product.status == "fail"
    assert product.found == says
    assert product.mend is not None and product.mend.startswith('pip install "jax')
    assert seen.status == "warn" and "importing jax" in seen.found


def test_a_hang_ends_and_names_its_stage(fake):
    fake("import time; time.sleep(60)")
    outcome = probe(3.0)
    assert outcome.seconds < 30
    assert work(outcome).found == "importing jax: no end within 3 s"


def test_a_wrong_product_is_found(tmp_path, monkeypatch):
    for name, source in {
        "jax/__init__.py": """
            class Device:
                platform, device_kind = "METAL", "Apple M0"
            devices = lambda: [Device()]
            default_backend = lambda: "METAL"
            class Array:
                rows = [[30.0, 36.0, 42.0], [66.0, 81.0, 96.0], [102.0, 126.0, 151.0]]
                tolist = lambda self: self.rows
            jit = lambda function: lambda a: Array()
        """,
        "jax/numpy.py": "asarray = lambda rows: rows",
        "flax/__init__.py": "",
        "flax/nnx.py": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(str(tmp_path))
    product, seen = at_work()
    assert product.status == "fail"
    assert product.found.startswith("computing a compiled product: ArithmeticError")
    assert product.mend == "JAX_PLATFORMS=cpu velocity-ledger doctor"
    assert seen.status == "warn" and "METAL" in seen.found
    (tmp_path / "jax" / "__init__.py").write_text(
        (tmp_path / "jax" / "__init__.py").read_text().replace("151.0", "150.0")
    )
    assert at_work()[0].status == "ok"


def test_a_python_that_cannot_be_started_is_a_line(monkeypatch):
    monkeypatch.setattr(_jax.sys, "executable", "/nowhere/python")
    assert work(probe(5.0)).found == "starting: No such file or directory"


def test_devices_are_counted_by_kind(monkeypatch):
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    cards = (("gpu", "NVIDIA H200"), ("gpu", "NVIDIA H200"))
    check = devices(Outcome("done", None, cards, "gpu", 1.0))
    assert (check.status, check.found) == ("ok", "2 x gpu (NVIDIA H200)")


def test_metal_is_a_warning():
    check = devices(Outcome("done", None, (("METAL", "Apple M2"),), "METAL", 1.0))
    assert check.status == "warn"
    assert "wrong results" in check.found
    assert check.mend == "pip uninstall jax-metal"


def test_a_card_that_jax_does_not_see_is_a_warning(install, tmp_path, monkeypatch):
    own = ["Provides-Extra: cuda", "Requires-Dist: jax[cuda12]<0.13,>=0.11.1; extra == 'cuda'"]
    install("velocity-ledger", "9.9", own)
    monkeypatch.setattr(_jax, "_NVIDIA", tmp_path)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert devices(DONE).status == "ok"
    monkeypatch.delenv("JAX_PLATFORMS")
    check = devices(DONE)
    assert check.status == "warn"
    assert check.mend == 'pip install "jax[cuda12]>=0.11.1,<0.13"'
    monkeypatch.setattr(_jax, "_NVIDIA", tmp_path / "none")
    assert devices(DONE).status == "ok"
