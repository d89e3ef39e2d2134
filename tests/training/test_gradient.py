"""The gradient of a batch in pieces, against the whole and against float64."""

import dataclasses as dc
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from velocity_ledger.integrators import parse
from velocity_ledger.model import GPT, ModelConfig, rows_key
from velocity_ledger.training import microbatch
from velocity_ledger.training._gradient import loss_and_gradient, loss_in_pieces, mean_loss_of
from velocity_ledger.training._pieces import CPU_TOKENS

SHAPE = ModelConfig(layers=2, width=16, heads=2, hidden=24, context=32, dropout=0.3, vocabulary=7)
TOKENS = np.random.default_rng(0).integers(0, 7, (8, 33)).astype(np.int32)
KEY = jax.random.key(3)


def split(variant: str, config: ModelConfig = SHAPE) -> tuple[Any, Any, Any]:
    graphdef, params, rest = nnx.split(GPT(config, parse(variant), rngs=0), nnx.Param, ...)
    return graphdef, nnx.to_pure_dict(params), rest


def close(found: Any, wanted: Any, tolerance: float) -> None:
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert np.asarray(a).dtype == np.float32
        scale = max(float(np.abs(np.asarray(b)).max()), 1e-3)
        np.testing.assert_allclose(a, b, atol=tolerance * scale)


# bdia draws a sign for every sample.
@pytest.mark.parametrize("variant", ["ledger", "ngpt-ledger", "bdia"])
@pytest.mark.parametrize("share", [True, False])
def test_pieces_add_up_to_the_batch_dropout_included(variant: str, share: bool) -> None:
    config = dc.replace(SHAPE, share_attention_dropout=share)
    graphdef, params, rest = split(variant, config)
    whole = jax.jit(loss_and_gradient, static_argnums=(0, 5))
    wanted = whole(graphdef, params, rest, TOKENS, KEY, 8)
    for size in (4, 3, 1):
        close(whole(graphdef, params, rest, TOKENS, KEY, size), wanted, 2e-5)
    assert float(wanted[0]) != float(whole(graphdef, params, rest, TOKENS, jax.random.key(4), 8)[0])


@pytest.mark.parametrize("variant", ["plain", "ngpt-ledger"])
def test_against_float64(variant: str) -> None:
    graphdef, params, rest = split(variant)
    found = jax.jit(loss_and_gradient, static_argnums=(0, 5))(
        graphdef, params, rest, TOKENS, KEY, 2
    )
    with jax.enable_x64(True):
        wide = jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), params)
        key = rows_key(KEY, 0)
        wanted = jax.value_and_grad(
            lambda p: mean_loss_of(graphdef, p, rest, jnp.asarray(TOKENS), key)
        )(wide)
        assert wanted[0].dtype == np.float64
        wanted = jax.device_get(wanted)
    close(found, wanted, 5e-5)


def test_bf16_follows_float32() -> None:
    of = jax.jit(loss_and_gradient, static_argnums=(0, 5))
    exact = of(*split("ngpt-ledger"), TOKENS, KEY, 8)
    found = of(*split("ngpt-ledger", dc.replace(SHAPE, precision="bf16")), TOKENS, KEY, 8)
    assert float(found[0]) != float(exact[0])
    assert abs(float(found[0]) - float(exact[0])) < 5e-3
    one, two = (
        np.concatenate([np.ravel(x) for x in jax.tree.leaves(g[1])]) for g in (exact, found)
    )
    assert one @ two / np.linalg.norm(one) / np.linalg.norm(two) > 0.999


@pytest.mark.parametrize("size", [8, 4, 3])
def test_the_loss_alone_and_its_derivative_are_those_of_both(size: int) -> None:
    # What a line search reads, and where it is derived once more.
    graphdef, params, rest = split("ngpt-ledger")
    both = jax.jit(loss_and_gradient, static_argnums=(0, 5))
    alone = jax.jit(loss_in_pieces, static_argnums=(0, 5))
    derived = jax.jit(jax.value_and_grad(loss_in_pieces, argnums=1), static_argnums=(0, 5))
    arguments = graphdef, params, rest, TOKENS, KEY, size
    wanted = both(*arguments)
    close(alone(*arguments), wanted[0], 1e-6)
    close(derived(*arguments), wanted, 2e-5)


def test_windows_at_a_time() -> None:
    assert microbatch(3, 12, 128) == 3
    assert microbatch(None, 64, 128) * 128 == CPU_TOKENS
    assert microbatch(None, 7, 128) == 7
    assert microbatch(None, 64, 10 * CPU_TOKENS) == 1
    # A divisor where there is one of good size, otherwise pieces that are nearly alike.
    assert microbatch(None, 12, 128) == 6
    assert [microbatch(None, n, 128) for n in (11, 13, 22, 127)] == [6, 7, 8, 8]
    for batch in range(1, 200):
        size = microbatch(None, batch, 128)
        assert 1 <= size <= 8 and size > min(8, batch) / 2
