"""Every product of matrices in a model is made in the precision that was asked for."""

import dataclasses as dc
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax import nnx

import velocity_ledger as vl
from model.test_blocks import CASES, DEEP, SMALL
from velocity_ledger.model import PhaseAttention
from velocity_ledger.model._keys import PathKeys

IDS = jax.ShapeDtypeStruct((2, SMALL.context), jnp.int32)


def dots(program: Any) -> Iterator[Any]:
    """The products of a program and of all within it: scans, loops, own derivatives, jits."""
    for equation in program.eqns:
        if equation.primitive.name == "dot_general":
            yield equation
        for inner in jax.tree.leaves(equation.params, is_leaf=lambda p: hasattr(p, "eqns")):
            if hasattr(inner, "eqns"):
                yield from dots(inner)


def settings(program: Any) -> tuple[set[Any], int]:
    """The float types of the operands with the precision, of all products, and their number."""
    found = list(dots(program.jaxpr))
    told = {
        (*(v.aval.dtype.name for v in dot.invars), *(dot.params["precision"] or ("any", "any")))
        for dot in found
    }
    return told, len(found)


HIGHEST = jax.lax.Precision.HIGHEST
WANTED = {
    "fp32": ("float32", "float32", HIGHEST, HIGHEST),
    "bf16": ("bfloat16", "bfloat16", "any", "any"),
}


@pytest.mark.parametrize("precision", WANTED)
@pytest.mark.parametrize(("case", "scan"), [*[(case, False) for case in CASES], ("all", True)])
def test_a_model_and_its_gradient(case: str, scan: bool, precision: Any) -> None:
    layers = SMALL.layers if case in DEEP else 1
    config = dc.replace(SMALL, **CASES[case], layers=layers, scan=scan, precision=precision)
    net = nnx.eval_shape(lambda: vl.GPT(config, vl.plain(), rngs=0))
    graph, params, rest = nnx.split(net, nnx.Param, ...)

    def objective(params: Any, rest: Any, ids: Any) -> Any:
        return jnp.sum(nnx.merge(graph, params, rest)(ids))

    forward, number = settings(jax.make_jaxpr(objective)(params, rest, IDS))
    both, more = settings(jax.make_jaxpr(jax.grad(objective))(params, rest, IDS))
    # At least attention's six, the MLP's two and the head; each has two derivatives.
    assert number >= 7 and more >= 2 * number
    assert forward == both == {WANTED[precision]}


def test_an_attention_of_stream_and_momentum_is_not_rounded() -> None:
    attention = PhaseAttention(4, keys=PathKeys(jax.random.key(0)))
    z = jnp.ones((1, 3, 8))
    for of in (attention, jax.grad(lambda z: jnp.sum(attention(z)))):
        found, number = settings(jax.make_jaxpr(of)(z))
        assert number >= 7 and found == {WANTED["fp32"]}
