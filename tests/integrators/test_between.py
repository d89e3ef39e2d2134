"""From one integrator to another by numbers alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from velocity_ledger.errors import UserError
from velocity_ledger.integrators import (
    Composition,
    Euler,
    Integrator,
    Position,
    between,
    names,
    parse,
)
from velocity_ledger.stream import integrate


def moved(integrator: Integrator) -> np.ndarray:
    x = jax.random.normal(jax.random.key(0), (3, 8))
    return np.asarray(integrate([jnp.tanh, jnp.sin, jnp.tanh], x, integrator)[0])


FORMS = (
    "ledger",
    "ledger(damped=False)",
    "ledger(debias=True)",
    "ledger(mu=linear(0.2, 0.9), h=0.5)",
    "nesterov",
    "plain(h=0.5)",
)


@pytest.mark.parametrize("form", FORMS)
def test_the_ends_are_the_two_integrators_bit_for_bit(form):
    target = parse(form)
    assert isinstance(target, Composition)
    euler = target.replace(momentum=Euler())
    first, last = between(euler, target)
    assert jax.tree.structure(first) == jax.tree.structure(last) == jax.tree.structure(target)
    np.testing.assert_array_equal(moved(first), moved(euler))
    np.testing.assert_array_equal(moved(last), moved(target))
    first, last = between(target, euler)
    np.testing.assert_array_equal(moved(first), moved(target))
    np.testing.assert_array_equal(moved(last), moved(euler))


def test_other_numbers_are_another_integrator():
    assert np.any(moved(parse("ledger(mu=0.01)")) != moved(parse("plain")))


def remembering():
    """Names whose momentum has numbers that make it Euler."""
    for name in names():
        momentum = getattr(parse(name), "momentum", Euler())
        if not isinstance(momentum, Euler) and momentum.as_euler() is not None:
            yield name


@pytest.mark.parametrize("name", list(remembering()))
def test_what_calls_itself_euler_is_euler(name):
    named = parse(name)
    assert isinstance(named, Composition)
    named = named.replace(reading=Position())  # Euler has nothing to coast along
    euler = named.replace(momentum=named.momentum.as_euler())
    np.testing.assert_array_equal(moved(euler), moved(named.replace(momentum=Euler())))
    assert np.any(moved(euler) != moved(named))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("nesterov", "ledger"),
        ("ledger", "ledger(damped=False)"),
        ("plain", "learned-ledger"),
        ("plain", "yuriiformer"),
        ("plain", "adams-bashforth"),
        ("plain", "layer-scale"),
        ("plain", "leapfrog"),
        ("ledger", "staggered"),
    ],
)
def test_where_no_numbers_lead_it_says_so(source, target):
    with pytest.raises(UserError, match=r"no numbers lead from .* to .*: go by way of another"):
        between(parse(source), parse(target))
