"""Which failures are a misfit of jax and flax, and which are not."""

import sys
import textwrap

import pytest

from velocity_ledger.doctor import misfit


@pytest.fixture
def failure(tmp_path, monkeypatch):
    """Write modules, import the last one, and return what it raises."""

    def of(**sources: str) -> BaseException:
        for name, source in sources.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(source))
        # The real ones stay out of the way, and come back.
        for name in [n for n in sys.modules if n.partition(".")[0] in sources]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.syspath_prepend(str(tmp_path))
        with pytest.raises(Exception) as raised:
            __import__(list(sources)[-1])
        return raised.value

    return of


def test_flax_that_misses_a_name_of_jax(failure, install):
    install("jax", "0.11.1")
    install("flax", "0.12.8")
    told = misfit(failure(jax="", flax="from jax import hijax"))
    assert told is not None
    assert told.startswith("jax 0.11.1 and flax 0.12.8 do not fit each other (cannot import name")
    assert told.endswith(": run velocity-ledger doctor")
    assert "\n" not in told


def test_jaxlib_that_jax_refuses(failure, install):
    install("jax", "0.12.0")
    install("jaxlib", "0.10.0")
    told = misfit(failure(jax="raise RuntimeError('jaxlib is version 0.10.0.')", flax="import jax"))
    assert told is not None
    assert told.startswith("jax 0.12.0 and jaxlib 0.10.0 do not fit each other (jaxlib is version")


@pytest.mark.parametrize(
    "sources",
    [
        {"jax": "", "flax": "import jax\njax.hijax.Box"},
        {"jax": "", "optax": "from jax import hijax"},
        {"numpy_like": "", "jax": "import numpy_like\nnumpy_like.bool"},
        {"jax": "import no_such_module_at_all"},
        {
            "jax": "1 .nonsense",
            "orbax": "try:\n  import jax\nexcept AttributeError as e:\n  raise KeyError from e",
        },
    ],
)
def test_other_ways_in_which_the_versions_show(failure, sources):
    assert misfit(failure(**sources)) is not None


@pytest.mark.parametrize(
    "sources",
    [
        {"mine": "from json import nonsense"},
        {"mine": "import no_such_module_at_all"},
        {"jax": "", "mine": "from jax import nonsense"},
        {"jax": "", "mine": "import jax\njax.nonsense"},
        {"jax": "1 / 0"},
        {"jax": "", "mine": "import jax\nraise RuntimeError('mine')"},
    ],
)
def test_another_mistake_is_left_alone(failure, sources):
    assert misfit(failure(**sources)) is None


@pytest.mark.parametrize("does", ["None.x", "raise RuntimeError('no backend')"])
def test_a_call_of_an_imported_jax_is_left_alone(failure, does):
    error = failure(jax=f"def f():\n  {does}", mine="import jax\njax.f()")
    assert isinstance(error, AttributeError | RuntimeError)
    assert misfit(error) is None


def test_a_package_that_is_missing_is_said_to_be(failure, install):
    install("flax", None)
    install("jax", "0.11.1")
    told = misfit(failure(optax="import flax_", flax="import jaxlib.nowhere"))
    assert told is not None
    assert told.startswith("jax 0.11.1 and flax (not installed) cannot be imported (")
