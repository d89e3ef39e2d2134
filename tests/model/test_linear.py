"""Linear maps: what stands in the place of one, and which form of it a device gets."""

import dataclasses as dc
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import velocity_ledger as vl
from model.test_blocks import SMALL, TOKENS, logits
from velocity_ledger.model import _linear
from velocity_ledger.model._linear import Linear, together


class Twice(nnx.Module):
    """A map of a user's own."""

    def __init__(self, of: Linear) -> None:
        self.of = of

    def __call__(self, x: Any) -> Any:
        return 2 * self.of(x)


@pytest.mark.parametrize("name", ["query", "key", "value"])
@pytest.mark.parametrize("kind", ["own", "lora", "derived"])
def test_what_stands_in_the_place_of_a_map_is_called(name: str, kind: str) -> None:
    """In training and in sampling."""
    net = vl.GPT(dc.replace(SMALL, layers=1), vl.plain(), rngs=0)
    before = logits(net)
    attention = net.blocks[0].attention
    of = getattr(attention, name)
    y = jnp.asarray(np.random.default_rng(0).normal(size=(5, SMALL.width)), jnp.float32)
    if kind == "lora":
        new = nnx.LoRA(SMALL.width, 2, SMALL.width, base_module=of, rngs=nnx.Rngs(0))
        new.lora_b.set_value(jnp.ones_like(new.lora_b[...]))
    elif kind == "derived":
        new = type(
            "Shifted", (Linear,), {"__call__": lambda self, x: Linear.__call__(self, x) + x}
        )(SMALL.width, SMALL.width, rngs=nnx.Rngs(0))
    else:
        new = Twice(of)
    setattr(attention, name, new)
    maps = [attention.query, attention.key, attention.value]
    for found, m in zip(together(maps, y), maps, strict=True):
        np.testing.assert_allclose(found, m(y), atol=1e-5)
    assert np.abs(logits(net) - before).max() > 1e-3
    drawn = vl.generate(net, TOKENS[:, :3], length=3, temperature=0.0)
    ids = np.concatenate([TOKENS[:, :3], drawn], 1)
    found = logits(net, np.pad(ids, ((0, 0), (0, 2))))[:, 2:5].argmax(-1)
    np.testing.assert_array_equal(drawn, found)


def test_maps_with_and_without_a_bias_go_together() -> None:
    maps = [Linear(3, 2, use_bias=bias, rngs=nnx.Rngs(0)) for bias in (True, False)]
    maps[0].bias = nnx.Param(jnp.ones(2))
    x = jnp.ones((4, 3))
    for found, m in zip(together(maps, x), maps, strict=True):
        np.testing.assert_allclose(found, m(x), atol=1e-6)


@pytest.mark.parametrize(("platform", "turned"), [("cpu", True), ("gpu", False), ("tpu", False)])
def test_a_tall_map_is_turned_on_a_cpu_alone(
    monkeypatch: pytest.MonkeyPatch, platform: str, turned: bool
) -> None:
    monkeypatch.setattr(_linear, "platform", lambda: platform)
    tall = Linear(6, 2, rngs=nnx.Rngs(0))
    program = str(jax.make_jaxpr(tall)(jnp.ones((8, 6))))
    assert ("optimization_barrier" in program, "transpose" in program) == (turned, turned)
