"""Products of matrices: what they equal, in which precision, and their derivatives."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from velocity_ledger.machine import _device
from velocity_ledger.model._product import product

FORMS = {
    "ti,io->to": ((24, 6), (6, 10)),
    "ti,io->to tall": ((24, 40), (40, 4)),
    "ti,oi->to": ((24, 40), (4, 40)),
    "bhqd,bhkd->bhqk": ((2, 3, 8, 4), (2, 3, 16, 4)),
    "bhqk,bhkd->bhqd": ((2, 3, 8, 16), (2, 3, 16, 4)),
}


def arrays(form: str) -> tuple[str, jax.Array, jax.Array]:
    draw = np.random.default_rng(0).normal
    a, b = (jnp.asarray(draw(size=shape), jnp.float32) for shape in FORMS[form])
    return form.split()[0], a, b


def with_gradients(indices: str, precision: Any) -> Any:
    @jax.jit
    def of(a: Any, b: Any) -> Any:
        y, back = jax.vjp(lambda a, b: product(indices, a, b, precision), a, b)
        return y, *back(jnp.cos(y))

    return of


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
def test_values_and_both_derivatives(form: str, precision: Any) -> None:
    indices, a, b = arrays(form)
    y, da, db = with_gradients(indices, precision)(a, b)
    left, out = indices.split("->")
    first, second = left.split(",")
    wide = [np.asarray(x, np.float64) for x in (a, b)]
    if precision == "bf16":
        wide = [np.asarray(x.astype(jnp.bfloat16), np.float64) for x in (a, b)]
    g = np.cos(np.asarray(y, np.float64))
    wanted = {
        "y": np.einsum(indices, *wide),
        "da": np.einsum(f"{out},{second}->{first}", g, wide[1]),
        "db": np.einsum(f"{first},{out}->{second}", wide[0], g),
    }
    # bf16 keeps 8 bits: half a unit in the last place is 2^-9, of the gradient and of the result.
    close = 2**-7 if precision == "bf16" else 2e-6
    for name, found in zip(wanted, (y, da, db), strict=True):
        assert found.dtype == jnp.float32 and found.shape == wanted[name].shape
        scale = np.abs(wanted[name]).max()
        np.testing.assert_allclose(found, wanted[name], atol=close * scale, err_msg=name)


def test_bf16_rounds_and_fp32_does_not() -> None:
    indices, a, b = arrays("ti,io->to")
    exact = np.asarray(a, np.float64) @ np.asarray(b, np.float64)
    error = {
        p: np.abs(np.asarray(product(indices, a, b, p)) - exact).max() for p in ("fp32", "bf16")
    }
    assert error["fp32"] < 1e-5 < 1e-3 < error["bf16"]


def test_other_float_types_are_promoted() -> None:
    with jax.enable_x64(True):
        y = product("ti,io->to", jnp.ones((2, 3), jnp.float64), jnp.ones((3, 2)), "fp32")
    assert y.dtype == np.float64


def test_fp32_can_be_differentiated_forwards_and_twice() -> None:
    indices, a, b = arrays("ti,io->to")
    value, tangent = jax.jvp(lambda a: product(indices, a, b, "fp32"), (a,), (a,))
    np.testing.assert_allclose(value, tangent, rtol=1e-5)
    hessian = jax.hessian(lambda a: jnp.sum(product(indices, a, b, "fp32") ** 2))(a[:1])
    assert np.isfinite(np.asarray(hessian)).all()


def test_bf16_keeps_the_wider_float_type() -> None:
    with jax.enable_x64(True):
        a, b = jnp.ones((2, 3), jnp.float64), jnp.ones((3, 2), jnp.float32)
        y, back = jax.vjp(lambda a, b: product("ti,io->to", a, b, "bf16"), a, b)
        gradients = back(y)
    assert y.dtype == np.float64
    assert [g.dtype for g in gradients] == [np.float64, np.float32]


def test_bf16_has_no_forward_derivative_and_jax_says_so() -> None:
    a = jnp.ones((3, 3))
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(lambda a: product("ti,io->to", a, a, "bf16"), (a,), (a,))


class Fake:
    """A device by its kind alone."""

    def __init__(self, platform: str, compute_capability: str = "") -> None:
        self.platform, self.compute_capability = platform, compute_capability


@pytest.mark.parametrize(
    ("platform", "precision"),
    [("cpu", "HIGHEST"), ("tpu", "HIGHEST"), ("gpu", "DEFAULT")],
)
def test_tf32_rounds_on_gpus_alone(
    monkeypatch: pytest.MonkeyPatch, platform: str, precision: str
) -> None:
    monkeypatch.setattr(_device, "device", lambda: Fake(platform))
    a = jnp.ones((3, 3))
    (dot,) = jax.make_jaxpr(lambda a: product("ti,io->to", a, a, "tf32"))(a).eqns
    assert {p.name for p in dot.params["precision"] or (jax.lax.Precision.DEFAULT,)} == {precision}
