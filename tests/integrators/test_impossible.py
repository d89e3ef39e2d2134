"""Compositions that cannot work are refused with the reason; what is only weaker says so."""

import jax
import pytest

import velocity_ledger as vl
from velocity_ledger.integrators import Coast, Composition, LookAhead, Table

COASTING = "compose({}, flat(), fixed(), reading=coast())"


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (COASTING.format("euler()"), "Euler has no velocity to coast along"),
        (COASTING.format("rk4()"), "RungeKutta4 has no velocity to coast along"),
        (COASTING.format("heavy_ball(debias=True)"), "no closed sum: write debias=False"),
        (COASTING.format("separate(heavy_ball(debias=True))"), "no closed sum"),
        (COASTING.format("heavy_ball(1.0)"), "coasts for ever"),
        (COASTING.format("heavy_ball(-1.0)"), "coasts for ever"),
        (COASTING.format("heavy_ball(drawn())"), "coasts for ever"),
        (COASTING.format("heavy_ball(linear(0.5, 1.0))"), "coasts for ever"),
        (COASTING.format("heavy_ball(learned(0.5, 'softplus'))"), "coasts for ever"),
        (COASTING.format("look_ahead(norm='overwrite')"), "never fades: it needs norm='none'"),
        (COASTING.format("look_ahead(norm='read')"), "never fades"),
        (COASTING.format("look_ahead(0.5, 1.0)"), "coasts for ever"),
        ("compose(look_ahead(), sphere(), fixed())", "LookAhead reads its field .* off the Sphere"),
        ("compose(look_ahead(learned()), sphere(), fixed())", "off the Sphere"),
        ("compose(heun(), tangent_sphere(), fixed())", "off the TangentSphere: use flat"),
        ("compose(gated_two_stage(), target_sphere(), fixed())", "off the TargetSphere"),
        ("compose(heun(), flat(), fixed(0.5))", "stages for a step of 1.0, .* takes 0.5"),
        ("compose(rk4(0.5), flat(), fixed())", "give both the same h"),
        ("compose(two_stage(h=0.5), flat(), fixed())", "give both the same h"),
        ("compose(separate(), flat(), fixed(), whole())", "Whole has one kind of sub-update"),
        ("compose(separate(), flat(), fixed(), parallel())", "Parallel has one kind"),
        ("compose(separate(euler()), flat(), fixed())", "Euler keeps no memory"),
        ("compose(separate(separate()), flat(), fixed())", "separate once"),
        ("compose(look_ahead(norm='read', start='bootstrap'), flat(), fixed())", "norm='none'"),
        ("ledger(mu=linear(), debias=True)", "one number for mu"),
        ("ledger(start='bootstrap', debias=True)", "start at zero"),
        ("damped-euler(damped=False, debias=True)", "damped=True"),
        ("damped-euler(mu=1., debias=True)", r"\|mu\| < 1"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(form, words):
    with pytest.raises(vl.UserError, match=words) as caught:
        vl.parse(form)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "form",
    [
        "compose(look_ahead(mu=0.), sphere(), fixed())",  # a heavy ball: it reads at the stream
        "compose(euler(), tangent_sphere(), fixed())",
        "compose(heun(0.5), flat(), fixed(0.5))",
        "compose(heun(), flat(), fixed(learned(0.5)))",  # what is learned is not known yet
        "compose(separate(), flat(), fixed(), strang())",
        "compose(adams_bashforth(), sphere(), fixed(), reading=coast())",
        COASTING.format("heavy_ball(linear(0.5, 0.9))"),
        COASTING.format("heavy_ball(drawn(0.5, 0.2))"),
        COASTING.format("heavy_ball(learned(0.5))"),
        COASTING.format("look_ahead(0.5, cosine(0.5, 0.6))"),
    ],
)
def test_what_works_is_let_through(form):
    assert isinstance(vl.parse(form), Composition)


def test_numbers_that_are_traced_are_let_through():
    @jax.jit
    def build(h):
        integrator = vl.Composition(LookAhead(h, h, h), vl.Flat(), vl.Fixed(h), reading=Coast())
        return integrator.replace(momentum=vl.HeavyBall(h)).momentum.mu  # pyright: ignore[reportAttributeAccessIssue]

    assert float(build(0.5)) == 0.5


def notes(form):
    integrator = vl.parse(form)
    assert isinstance(integrator, Composition)
    return " ".join(integrator.notes)


def test_what_is_weaker_than_its_name_says_so():
    assert "of order 2 for one field, but LieTrotter of order 1" in notes("adams-bashforth")
    assert "separate() keeps them apart" in notes("adams-bashforth")
    split = notes("compose(separate(adams_bashforth()), flat(), fixed())")
    assert "LieTrotter" in split and "apart" not in split
    assert "RungeKutta4 is of order 4" in notes("compose(rk4(), flat(), fixed(), strang())")
    for form in ("plain", "ledger", "heun", "rk4", "strang"):
        assert notes(form) == "", form


@pytest.mark.parametrize(("index", "total"), [(0, 3), (2, 12)])
def test_a_table_of_another_length_is_refused_where_it_runs(index, total):
    with pytest.raises(vl.UserError, match=f"2 numbers does not fit {total} sub-updates"):
        Table((0.1, 0.2)).value("mu", None, vl.Context(index, total=total))
