"""Equations that are read from docstrings, carried out, are what the integrators do."""

import ast
import dataclasses as dc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import velocity_ledger as vl
from velocity_ledger.integrators import Coefficient, Value, _algebra, _equation, equation

WIDTH, N = 8, 6
FORMS = [
    *vl.names(),
    "ledger(mu=.6, damped=False)",
    "ledger(mu=.6, debias=True)",
    "ledger(mu=linear(.1, .8), h=.5, start='vector')",
    "nesterov(mu=.5, gamma=.3, h=2)",
    "compose(look_ahead(mu=0, beta=.7, gamma=.2, norm='read'), sphere(radius=2), alpha(h=.5))",
    "compose(heavy_ball(mu=.5), target_sphere(radius=1.5), fixed(h=learned(.3, 'softplus')))",
    "compose(heun(h=.5), flat(), fixed(h=.5), whole())",
    "compose(adams_bashforth(), sphere(), fixed(h=ledger_gain(.7)))",
]
# Equations in another notation are shown as they stand and cannot be carried out.
READ = [form for form in FORMS if not equation(vl.parse(form)).verbatim]
KNOWN = [
    "plain", "ledger", "ngpt-lite", "ngpt-ledger", "damped-euler", "rezero", "layer-scale",
    "learned-ledger", "nesterov", "yuriiformer", "hbformer", "tmmformer", "polyak-shear",
    "adams-bashforth", "leapfrog", "midpoint", "midpoint-a", "bdia", "heun", "rk4",
    "riemannian-ledger", "ngpt-step", "parallel", "strang", "macaron", "staggered",
]  # fmt: skip


def layer_norm(v):
    z = v - v.mean(-1, keepdims=True)
    return z / np.sqrt((z * z).mean(-1, keepdims=True) + 1e-5)


def tangent(x, y):
    return y - (x * y).sum(-1, keepdims=True) * x / (x * x).sum(-1, keepdims=True)


FUNCTIONS = {
    "LN": layer_norm,
    "P": tangent,
    "abs": lambda y: np.sqrt((y * y).sum(-1, keepdims=True)),
    "sqrt": np.sqrt,
    "sigmoid": lambda r: 1 / (1 + np.exp(-r)),
    "softplus": lambda r: np.log1p(np.exp(r)),
}


def coefficients(value):
    found = {}
    for field in dc.fields(value):
        item = getattr(value, field.name)
        if isinstance(item, Coefficient):
            found[field.name] = item
        elif isinstance(item, Value):
            found |= coefficients(item)
    return found


def carried_out(said, integrator, fields, x0):
    """The stream after all sub-updates by the lines of an equation, in float64."""
    env = {"x": x0, "x_0": x0, "D": x0.shape[-1], "n": len(fields)}
    for name, parameter in integrator.parameters(x0.shape[-1]).items():
        raw = np.asarray(parameter.initial(jax.random.key(0)), np.float64)
        scale = getattr(integrator, "step_scale", None)
        if name == "alpha" and getattr(scale, "rescaled", False):
            raw = raw * x0.shape[-1] ** 0.5 * getattr(scale, "alpha", 1.0)
        env |= {name: raw, f"r_{name}": raw}

    def value(tree):
        tree = ast.fix_missing_locations(ast.Expression(tree))
        return eval(compile(tree, "equation", "eval"), {}, FUNCTIONS | env)

    for line in said.lines:
        if line.target.endswith("'") and line.target != "x'":
            env.setdefault(line.target[:-1], np.zeros_like(x0))
        if line.target.endswith("_0"):
            env[line.target[:-2]] = value(line.value) + np.zeros_like(x0)
        if line.target == "r":  # A stream on a sphere starts there.
            env["x"] = value(line.value) * x0 / FUNCTIONS["abs"](x0)
    for k, field in enumerate(fields):
        env |= {"k": k, "F": field}
        for line in said.lines:
            if line.target.endswith("_0"):
                continue
            if line.when and not {"k = 0": k == 0, "k > 0": k > 0}[line.when]:
                continue
            if "sign" in _algebra.variables(line.value):  # Only the code knows what was drawn.
                rule, ctx = coefficients(integrator)[line.target], vl.Context(k, total=len(fields))
                env[line.target] = np.asarray(rule.value(line.target, jnp.zeros((1, 1)), ctx))
            else:
                env[_algebra.identifier(line.target)] = value(line.value)
        env |= {
            line.target[:-1]: env[_algebra.identifier(line.target)]
            for line in said.lines
            if line.target.endswith("'")
        }
    return env.get("p", env["x"])


def compared(said, integrator):
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((N, WIDTH, WIDTH)) / WIDTH**0.5
    x0 = rng.standard_normal((3, WIDTH))
    w32 = jnp.asarray(weights, jnp.float32)
    there, _ = vl.integrate(
        [lambda x, w=w: jnp.tanh(x @ w) + 0.1 for w in w32],
        jnp.asarray(x0, jnp.float32),
        integrator,
    )
    fields = [lambda x, w=w: np.tanh(x @ w) + 0.1 for w in weights]
    return np.asarray(there), carried_out(said, integrator, fields, x0)


@pytest.mark.parametrize("form", READ, ids=str)
def test_an_equation_carried_out_is_the_integrator(form):
    integrator = vl.parse(form)
    there, here = compared(equation(integrator), integrator)
    # float32 through six tanh fields, some of them with gains above 1.
    np.testing.assert_allclose(there, here, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("form", ["ledger(mu=.6)", "riemannian-ledger", "adams-bashforth"])
def test_an_equation_of_another_integrator_is_told(form):
    for other in ("plain", "ledger(mu=.59)", "ngpt-ledger", "nesterov"):
        there, _ = compared(equation(vl.parse(form)), vl.parse(form))
        _, here = compared(equation(vl.parse(other)), vl.parse(other))
        assert not np.allclose(there, here, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", vl.names(), ids=str)
def test_every_name_has_an_equation(name):
    said = equation(vl.parse(name))
    assert any("=" in line or "->" in line for line in said.text())
    assert bool(said.tex()) == bool(said.lines)


def test_those_of_the_axes_are_all_read():
    assert [name for name in KNOWN if name not in READ] == []


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("plain", ["x' = x + F(x)"]),
        ("ledger", ["v' = 0.9 v + 0.1 F(x)", "x' = x + v'", "v_0 = 0"]),
        ("midpoint", ["v' = -v + 2 F(x)", "x' = x + 0.5 v'", "v_0 = 0"]),
        ("nesterov(mu=.5, h=2)", ["v' = 0.5 v + 0.1 F(x + 0.5 v)", "x' = x + 2 v'", "v_0 = 0"]),
        ("ledger(debias=True)", ["v' = 0.9 v + 0.1 F(x)", "x' = x + v' / (1 - 0.9^(k + 1))"]),
    ],
)
def test_lines_for_a_terminal(form, lines):
    assert equation(vl.parse(form)).text()[2 : 2 + len(lines)] == lines


def test_what_a_splitting_makes_of_the_fields():
    text = equation(vl.parse("strang")).text()
    assert text[:2] == [
        "a(x) = attention(norm(x)),  m(x) = MLP(norm(x))",
        "F(x) = 0.5 m(x), then a(x), then 0.5 m(x)",
    ]
    assert equation(vl.parse("ngpt-step")).text()[0] == "a(x) = attention(x),  m(x) = MLP(x)"


@pytest.mark.parametrize("name", ["lie_trotter", "strang", "macaron", "parallel", "whole"])
def test_a_splittings_lines_are_what_it_arranges(name):
    integrator = vl.parse(f"compose(euler(), flat(), fixed(), {name}())")
    splitting = integrator.splitting
    functions = {"attention": np.sin, "mlp": np.cos, "mlp_after": np.tanh}
    fields = {
        kind: vl.Field(None, None, lambda params, x, key, f=functions[kind]: jnp.asarray(f(x)))
        for kind in splitting.fields
    }
    letters = {"a": np.sin, "m": np.cos, "m2": np.tanh, "x": np.linspace(-1, 1, 5)}
    said = equation(integrator).fields
    arranged = splitting.arrange(fields)
    assert len(said) == len(arranged)
    for line, field in zip(said, arranged, strict=True):
        tree = ast.fix_missing_locations(ast.Expression(line.value))
        here = eval(compile(tree, "equation", "eval"), {}, letters)
        np.testing.assert_allclose(field(jnp.asarray(letters["x"])), here, rtol=1e-5)


class Odd(vl.Integrator):
    """Nobody knows: x becomes y."""

    def step(self, field, stream, state, ctx):
        f = field(stream)
        return stream + f, state, vl.Info(increment=f, raw_step=f, step=f)


def test_words_that_are_no_equation_are_shown_as_they_are():
    assert equation(Odd()).text() == ["Nobody knows: x becomes y."]
    assert equation(Odd()).tex() == []


leaf = st.sampled_from(["x", "v", "mu", "f(x)", "2", "0.5", "0", "1", "|x|", "v'"])
trees = st.recursive(
    leaf, lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(
        lambda t: f"({t[0]} {t[1]} {t[2]})"
    ), max_leaves=8,
)  # fmt: skip
VALUES = {"x": -1.3, "v": 0.7, "v__new": 2.1, "mu": 0.3, "f": lambda x: x * x + 1, "abs": abs}


def evaluated(tree):
    tree = ast.fix_missing_locations(ast.Expression(tree))
    try:
        return eval(compile(tree, "equation", "eval"), {}, dict(VALUES))
    except ZeroDivisionError:
        return None


@settings(max_examples=60)
@given(trees)
def test_simplified_and_written_again_a_term_keeps_its_value(text):
    tree = _algebra.parse(text)
    value = evaluated(tree)
    if value is None:
        return
    simple = _algebra.simplified(tree)
    assert evaluated(simple) == pytest.approx(value, rel=1e-6, abs=1e-9)
    again = evaluated(_algebra.parse(_algebra.plain(simple)))
    assert again == pytest.approx(value, rel=1e-5, abs=1e-6)  # Numbers are written with 7 figures.


@pytest.mark.parametrize("text", ["a b = c", "x[0]", "lambda: 0", "1 if x else 2", "x +", "'x'"])
def test_what_is_no_term_is_refused(text):
    with pytest.raises(SyntaxError):
        _algebra.parse(text)


def test_a_setting_chooses_its_line():
    chosen = _equation._chosen
    assert chosen("damped", {"damped": True}) is True
    assert chosen('norm != "read"', {"norm": "read"}) == ""
    assert chosen("k > 0", {"norm": "read"}) == "k > 0"
    assert chosen("an average of the past", {"norm": "read"}) is None
    assert chosen("__import__('os')", {}) is None
