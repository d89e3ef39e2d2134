"""Text forms: what is read, what is refused, and files of the user's own."""

import functools
import textwrap

import jax.numpy as jnp
import pytest
from hypothesis import given, strategies as st

import velocity_ledger as vl
from velocity_ledger.integrators import Coast, Separate, Table

MINE = """
from velocity_ledger import Composition, HeavyBall, Info, Integrator, Sphere, Fixed


class Mine(Integrator):
    h: float = 0.5

    def step(self, field, stream, state, ctx):
        f = field(stream)
        step = self.h * f
        return stream + step, state, Info(increment=f, raw_step=step, step=step)


def round_ball(mu=0.3):
    return Composition(HeavyBall(mu), Sphere(), Fixed())


value = round_ball()
number = 3


class Counts(Integrator):
    order: int
    limit: int | None = None
    h: float = 2.0
"""


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("form", "integrator", "canonical"),
    [
        ("ledger", vl.ledger(), "ledger"),
        ("ledger()", vl.ledger(), "ledger"),
        (" ledger( mu = .95 ) ", vl.ledger(mu=0.95), "ledger(mu=0.95)"),
        ("ledger(mu=0)", vl.ledger(mu=0.0), "ledger(mu=0.0)"),
        ("ngpt_lite", vl.ngpt_lite(), "ngpt-lite"),
        ("plain(h=.46)", vl.plain(h=0.46), "plain(h=0.46)"),
        ("ledger(mu=0.9)", vl.ledger(), "ledger"),
        ("compose(euler(), flat(), fixed())", vl.plain(), "plain"),
        (
            "ledger(mu=table((0.5, 1)))",
            vl.ledger(Table((0.5, 1.0))),
            "ledger(mu=table(values=(0.5, 1.0)))",
        ),
        (
            "yuriiformer(velocity='tokens', gain=1)",
            vl.parse("yuriiformer(gain=1.0, velocity='tokens')"),
            "yuriiformer(velocity='tokens', gain=1.0)",
        ),
        (
            "compose(separate(heavy_ball(mu=.2)), flat(), fixed(), reading=coast())",
            vl.Composition(Separate(vl.HeavyBall(0.2)), vl.Flat(), vl.Fixed(), reading=Coast()),
            "compose(separate(of=heavy_ball(mu=0.2)), flat(), fixed(), reading=coast())",
        ),
        ("compose(separate(), flat(), fixed())", vl.parse("split-ledger"), "split-ledger"),
        (
            "compose(heavy_ball(mu=.2), sphere(), fixed())",
            vl.Composition(vl.HeavyBall(0.2), vl.Sphere(), vl.Fixed()),
            "compose(heavy_ball(mu=0.2), sphere(), fixed())",
        ),
    ],
)
def test_forms(form, integrator, canonical):
    assert vl.parse(form) == integrator
    assert vl.text(vl.parse(form)) == canonical


@given(
    st.floats(0, 1), st.floats(-10, 10), st.booleans(), st.sampled_from(["ledger", "ngpt-ledger"])
)
def test_every_value_survives_its_text(mu, h, damped, name):
    integrator = vl.parse(f"{name}(mu={mu!r}, h={h!r}, damped={damped})")
    assert vl.parse(vl.text(integrator)) == integrator


def test_an_array_is_written_as_the_number_it_was():
    assert vl.text(vl.ledger(mu=jnp.float32(0.95))) == "ledger(mu=0.95)"


@pytest.mark.parametrize(
    ("form", "word"),
    [
        ("", "is not an integrator"),
        ("leger", "plain, ledger, ngpt-lite"),
        ("ledger(nu=2)", "it takes mu, h, damped, debias"),
        ("ledger(.9)", "name the arguments"),
        ("ledger(mu=)", "cannot be read"),
        ("ledger(mu=.9", "is not an integrator"),
        ("ledger(mu=.9, mu=.8)", "gives mu twice|cannot be read"),
        ("ledger(**{})", "cannot be read"),
        ("ledger(mu=__import__('os'))", "is no number|no part"),
        ("ledger(mu='a')", "mu is a number"),
        ("ledger(mu=True)", "mu is a number"),
        ("ledger(damped=1)", "True or False"),
        ("ledger(mu=2)", "between -1 and 1"),
        ("ledger(mu=1, debias=True)", "vanishes"),
        ("compose(flat(), flat(), fixed())", "momentum is a Momentum|Type-check error"),
        ("compose(euler(), torus(), fixed())", "no part is named torus"),
        ("./nowhere.py:Mine", "cannot read ./nowhere.py"),
        ("ledger; import os", "is not an integrator"),
        ("compose(euler(), sphere(), fixed('a'))", "h is a number"),
        ("compose(heavy_ball(mu=.9, mu=.8), flat(), fixed())", "gives mu twice|cannot be read"),
        ("compose(heavy_ball(**3), flat(), fixed())", "cannot be read"),
        ("compose(heavy_ball(.9, mu=.8), flat(), fixed())", "given mu twice"),
        ("compose(euler(), flat(), fixed(), flat())", "splitting is a Splitting|Type-check error"),
        ("compose(euler(), flat(), fixed(), strang(), 1)", "reading is a Reading|Type-check error"),
        ("compose(euler(), flat(), fixed(), strang(), coast(), 1)", "takes 5 arguments, got 6"),
        ("ledger(mu=table(0.5))", "numbers in brackets"),
        ("ledger(mu=table(()))", "a number for every sub-update"),
        ("ledger(mu=(0.5, 0.9))", "mu is one number"),
        ("ledger(mu=table((0.5, 'a')))", "is no number"),
        ("ledger(mu=table((0.5, 1e999)))", "finite"),
        ("./mine.py", "mine.py:Mine"),
        (f"ledger(mu=1{'0' * 400})", "finite"),
    ],
)
def test_refused_forms_say_why_in_one_line(form, word):
    with pytest.raises(vl.UserError, match=word) as caught:
        vl.parse(form)
    assert "\n" not in str(caught.value)


def test_a_class_in_a_file(mine):
    form = f"{mine}:Mine(h=0.3)"
    integrator = vl.parse(form)
    assert vl.text(integrator) == form
    assert vl.parse(form) == integrator
    assert vl.text(vl.parse(f"{mine}:Mine")) == f"{mine}:Mine"
    assert integrator.replace(h=0.5) == vl.parse(f"{mine}:Mine")
    x, _ = vl.integrate([jnp.ones_like], jnp.zeros((1, 2)), integrator)
    assert float(x[0, 0]) == pytest.approx(0.3)


def test_a_function_and_a_value_in_a_file(mine):
    made = vl.parse(f"{mine}:round_ball(mu=.7)")
    assert made == vl.Composition(vl.HeavyBall(0.7), vl.Sphere(), vl.Fixed())
    assert vl.text(made) == f"{mine}:round_ball(mu=0.7)"
    value = vl.parse(f"{mine}:value")
    assert value == vl.Composition(vl.HeavyBall(0.3), vl.Sphere(), vl.Fixed())
    assert vl.text(value) == f"{mine}:value"


def test_whole_numbers_stay_whole_where_they_count(mine):
    integrator = vl.parse(f"{mine}:Counts(order=3, limit=4, h=1)")
    assert [type(getattr(integrator, n)) for n in ("order", "limit", "h")] == [int, int, float]
    assert vl.text(integrator) == f"{mine}:Counts(order=3, limit=4, h=1.0)"
    assert vl.parse(vl.text(integrator)) == integrator


def test_a_relative_path_stays_relative(mine, monkeypatch):
    monkeypatch.chdir(mine.parent)
    assert vl.text(vl.parse("./mine.py:Mine")) == "./mine.py:Mine"


def test_an_edited_file_is_read_again(mine):
    before = vl.parse(f"{mine}:Mine")
    mine.write_text(MINE.replace("0.5", "0.25"), encoding="utf-8")
    assert vl.parse(f"{mine}:Mine") != before


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("Missing", "no integrator named Missing; it defines Mine, Counts"),
        ("number", "is not an integrator: subclass"),
        ("Mine(k=1)", "Mine has no argument k: it takes h"),
        ("value(mu=1)", "takes no arguments"),
    ],
)
def test_what_a_file_does_not_hold(mine, name, word):
    with pytest.raises(vl.UserError, match=word):
        vl.parse(f"{mine}:{name}")


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("def (", "SyntaxError"),
        ("1/0", "ZeroDivisionError"),
        ("import nowhere_at_all", "nowhere"),
        ("import sys; sys.exit(0)", "SystemExit"),
        ("Mine = max", "max is not an integrator|Mine"),
        ("def Mine(): raise RuntimeError('a\\nb')", "cannot be made: RuntimeError: a$"),
        ("def Mine(): raise SystemExit(0)", "cannot be made: SystemExit: 0$"),
    ],
)
def test_a_file_that_does_not_run(tmp_path, source, word):
    path = tmp_path / "broken.py"
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    with pytest.raises(vl.UserError, match=word):
        vl.parse(f"{path}:Mine")


def test_a_sum_too_long_to_be_shown_is_one_line():
    with pytest.raises(vl.UserError, match="cannot be read: write name=number"):
        vl.parse(f"ledger(mu={'+'.join(['1'] * 5000)})")


def test_a_folder_of_a_user_who_is_not_here():
    with pytest.raises(vl.UserError, match="cannot read ~nobody-of-this-name/mine"):
        vl.parse("~nobody-of-this-name/mine.py:Mine")


def test_a_number_that_single_precision_lacks_is_no_finite_number():
    with pytest.raises(vl.UserError, match="h must be a finite number"):
        vl.parse("plain(h=1e39)")


def test_where_an_integrator_comes_from(mine):
    assert vl_source(vl.parse(f"{mine}:Mine")) == mine.resolve()
    assert vl_source(vl.parse(f"{mine}:round_ball")) == mine.resolve()
    assert vl_source(vl.ledger()) is None


def vl_source(integrator):
    from velocity_ledger.integrators import source_of

    return source_of(integrator)


def test_registering_a_name(monkeypatch):
    from velocity_ledger.integrators import _registry

    monkeypatch.setattr(_registry, "_builders", dict(_registry._builders))
    vl.register("half", lambda h=0.5: vl.plain(h=h))
    assert vl.parse("half") == vl.plain(h=0.5)
    # Of several names, the one that needs the fewest arguments.
    assert vl.text(vl.plain(h=0.5)) == "half"
    assert vl.text(vl.plain(h=0.25)) == "plain(h=0.25)"
    with pytest.raises(vl.UserError, match="registered already"):
        vl.register("half", vl.plain)


def test_a_text_is_found_without_building_every_name():
    """What each name makes is known after the first text: many names cost no more builds."""
    from velocity_ledger.integrators import _registry

    forms = ("ledger(mu=0.3)", "tmmformer", "ngpt-ledger(radius=2.0)", "rk4(h=0.5)")
    integrators = [vl.parse(form) for form in forms]
    texts = [vl.text(i) for i in integrators]
    built = []
    kept = dict(_registry._builders)
    try:
        for name, build in kept.items():
            counted = functools.wraps(build)(
                lambda *a, build=build, name=name, **k: built.append(name) or build(*a, **k)
            )
            _registry._builders[name] = counted
        assert [vl.text(i) for i in integrators] == texts
        built.clear()
        assert [vl.text(i) for i in integrators] == texts
        assert len(built) <= 2 * len(forms)
    finally:
        _registry._builders.update(kept)
