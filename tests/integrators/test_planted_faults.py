"""The contract suite tried against faults planted on purpose: each has a check that fails.

A check that no fault can fail proves nothing, so every check stands here with one that it catches.
"""

import dataclasses as dc

import jax.numpy as jnp
import pytest

import velocity_ledger as vl
from integrators import (
    test_contract as contract,
    test_reductions as reductions,
    test_splitting as splitting,
)
from velocity_ledger.integrators import HeavyBall, Impulse, Sphere, Strang, TangentSphere, Whole
from velocity_ledger.integrators.coefficient import LedgerGain, Signs
from velocity_ledger.integrators.momentum import Euler, LookAhead
from velocity_ledger.integrators.step_scale import Alpha, Fixed


@pytest.fixture(autouse=True)
def fresh_programs():
    contract.compiled.cache_clear()
    yield
    contract.compiled.cache_clear()


def no_memory(self, field, x, state, ctx):
    """A velocity that is kept and never read."""
    f = field(x)
    v = 0.0 * state + (1 - self.mu) * f
    return Impulse(v, f, v), v


def gain_of_the_square(self, field, x, state, ctx):
    """1 - mu^2 where 1 - mu belongs; at mu = 0 nothing shows."""
    f = field(x)
    v = self.mu * state + (1 - self.mu**2) * f
    return Impulse(v, f, v), v


def gain_at_rest(self, field, x, state, ctx):
    """A gain that is wrong at mu = 0 too."""
    f = field(x)
    v = self.mu * state + (0.9 - self.mu) * f
    return Impulse(v, f, v), v


def double_precision(self, field, x, state, ctx):
    """A velocity that leaves the stream's dtype."""
    f = field(x)
    v = (self.mu * state + (1 - self.mu) * f).astype(jnp.float32)
    return Impulse(v, f, v), v


def ignores_alpha(self, direction, ctx):
    return direction * jnp.ones_like(ctx.parameters["alpha"])


def alpha_of_the_mean(self, direction, ctx):
    return jnp.mean(ctx.parameters["alpha"]) * direction


def no_retraction(self, x, step):
    return x + step, step


def forgets_the_retraction(self, x, step):
    """Reports the step before the retraction as the realised one."""
    moved = vl.retract(x + step, self._radius(x))
    return moved, step


def drifts(self, x, step):
    return x + step + 1e-3, step + 1e-3


def centred_over_the_batch(self, field, x, state, ctx):
    f = field(x)
    f = f - f.mean(0, keepdims=True)
    return Impulse(f, f), state


def sees_the_next_token(self, field, x, state, ctx):
    f = field(x)
    f = f + jnp.roll(f, -1, axis=-2) * 1e-3
    return Impulse(f, f), state


def looks_behind(self, field, x, state, ctx):
    """The field read where the stream is, not ahead of it."""
    f = field(x)
    v = self.beta * state + self.gamma * f
    return Impulse(v, f, v), v


def untransported(self, x, memory):
    return memory


def unscaled(self, name, x, ctx):
    return jnp.asarray(1.0)


def drawn_once_for_all(self, name, x, ctx):
    """One sign for the whole batch."""
    if ctx.key is None:
        return jnp.zeros(())
    one = dc.replace(ctx)
    return Signs.original(self, name, x[:1], one)  # pyright: ignore[reportAttributeAccessIssue]


def drops_the_mlp(self, fields):
    return (fields["attention"],)


def whole_halves(self, fields):
    return fields["mlp"], fields["attention"], fields["mlp"]


# what is broken, with what, and the check that must fail
FAULTS = [
    (HeavyBall, "update", no_memory, contract.test_agreement_with_numpy_float64, ("ledger",)),
    (HeavyBall, "update", gain_of_the_square, contract.test_agreement_with_numpy_float64,
     ("ledger",)),
    (HeavyBall, "update", gain_at_rest, reductions.test_reduces_to, ("ledger(mu=0)", "plain", "")),
    (HeavyBall, "update", double_precision, contract.test_state_keeps_structure_and_dtype,
     ("ledger",)),
    (Alpha, "scale", ignores_alpha, contract.test_finite_under_jit_vmap_scan_and_grad,
     ("ngpt-lite",)),
    (Alpha, "scale", alpha_of_the_mean, contract.test_agreement_with_numpy_float64,
     ("layer-scale",)),
    (Sphere, "move", no_retraction, contract.test_the_stream_stays_on_the_sphere, ("ngpt-lite",)),
    (Sphere, "move", forgets_the_retraction,
     contract.test_recorded_steps_add_up_to_the_displacement, ("ngpt-lite",)),
    (vl.Flat, "move", drifts, contract.test_a_zero_field_leaves_a_path_of_length_zero, ("plain",)),
    (Euler, "update", centred_over_the_batch, contract.test_batch_elements_do_not_see_each_other,
     ("plain",)),
    (Euler, "update", sees_the_next_token, splitting.test_no_token_sees_a_later_one,
     ("plain",)),
    (LookAhead, "update", looks_behind, contract.test_agreement_with_numpy_float64, ("nesterov",)),
    (TangentSphere, "transport", untransported, contract.test_agreement_with_numpy_float64,
     ("riemannian-ledger",)),
    (LedgerGain, "value", unscaled, contract.test_hyperparameters_are_data, ("damped-euler",)),
    (LedgerGain, "value", unscaled, reductions.test_a_damped_euler_delivers_what_a_ledger_delivers,
     ()),
    (Signs, "value", drawn_once_for_all,
     reductions.test_bdia_is_a_ledger_of_random_sign_in_training, ()),
    (Strang, "arrange", whole_halves,
     splitting.test_order_of_a_splitting_for_the_sum_of_its_fields, (Strang(), 2)),
    (Fixed, "scale", lambda self, direction, ctx: 0 * direction,
     contract.test_recorded_steps_add_up_to_the_displacement, ("plain",)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("owner", "method", "fault", "check", "arguments"),
    FAULTS,
    ids=[f"{f[0].__name__}-{getattr(f[2], '__name__', 'x')}-{f[3].__name__}" for f in FAULTS],
)
def test_a_planted_fault_is_caught(owner, method, fault, check, arguments, monkeypatch):
    check(*arguments)
    contract.compiled.cache_clear()
    original = getattr(owner, method)
    monkeypatch.setattr(owner, method, fault)
    monkeypatch.setattr(owner, "original", original, raising=False)
    with pytest.raises(AssertionError):
        check(*arguments)


def test_a_splitting_that_drops_a_field_is_caught(monkeypatch):
    monkeypatch.setattr(Whole, "arrange", drops_the_mlp)
    with pytest.raises(AssertionError):
        splitting.test_a_layer_is_the_product_it_should_be(
            Whole(), lambda i: (i + splitting.A) @ (i + splitting.B)
        )


def test_every_check_of_the_contract_has_a_fault_that_it_catches():
    checks = {name for name in vars(contract) if name.startswith("test_")}
    caught = {check.__name__ for _, _, _, check, _ in FAULTS}
    # Of text and of sweeps there is nothing to plant in the arithmetic.
    rest = {
        "test_every_registered_name_has_its_equation_here",
        "test_text_form_and_back",
        "test_a_scan_and_a_loop_agree",
        "test_swept_hyperparameters_give_what_each_gives",
    }
    assert checks - caught == rest
