"""A model small enough to compile in a second, called as the GPT is."""

import dataclasses as dc
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from velocity_ledger.training import Data, TrainingConfig

TRACES = [0]


@dc.dataclass(frozen=True)
class TinyConfig:
    context: int = 8
    vocabulary: int = 7
    dropout: float = 0.3


class Tiny(nnx.Module):
    """An embedding, one gate that starts at exactly 1, and a head."""

    def __init__(self, seed: int = 0, config: TinyConfig = TinyConfig()) -> None:
        # Drawn by NumPy: the initialisers would compile a dozen programs in every process.
        draw = np.random.default_rng(seed).normal
        self.config = config
        self.embed = nnx.Param(jnp.asarray(draw(size=(config.vocabulary, 6)), jnp.float32))
        self.gate = nnx.Param(jnp.asarray(np.ones(6, np.float32)))
        self.kernel = nnx.Param(jnp.asarray(draw(size=(6, config.vocabulary)), jnp.float32))
        self.bias = nnx.Param(jnp.asarray(np.zeros(config.vocabulary, np.float32)))

    def __call__(self, tokens: Any, *, key: Any = None, record: Any = None) -> Any:
        TRACES[0] += 1
        x = self.embed[...][tokens]
        if key is not None:
            keep = 1.0 - self.config.dropout
            x = jnp.where(jax.random.bernoulli(key, keep, x.shape), x / keep, 0.0)
        y = jnp.tanh(self.gate[...] * x)
        logits = y @ self.kernel[...] + self.bias[...]
        if record is None:
            return logits
        length = jnp.linalg.norm(y, axis=-1)
        return logits, {"path_length": length, "step_length": length[None]}


CONFIG = TrainingConfig(
    steps=20,
    batch=4,
    peak_rate=3e-2,
    final_rate=3e-3,
    warmup=3,
    val_every=6,
    val_batches=2,
    checkpoint_every=5,
    probe_windows=2,
)


def make_data(seed: int = 0, vocabulary: int = 7) -> Data:
    """Tokens with something to learn: most follow the one before by 1."""
    generator = np.random.default_rng(seed)
    steps = np.where(generator.random(2000) < 0.7, 1, generator.integers(0, vocabulary, 2000))
    ids = (np.cumsum(steps) % vocabulary).astype(np.int32)
    return Data(ids[:1800], ids[1800:])


_ADAM = optax.adam(1e-2)


def _poison(updates: Any, state: Any, params: Any = None) -> Any:
    updates, adam = _ADAM.update(updates, state["adam"], params)
    now = state["count"] == state["at"]
    bad = jax.tree.map(lambda u: jnp.where(now, state["value"], u), updates)
    return bad, {**state, "adam": adam, "count": state["count"] + 1}


def poisoned(at: int, value: float = float("nan")) -> optax.GradientTransformation:
    """Adam whose update number `at` (from 0) is `value` everywhere; one program for them all."""

    def init(params: Any) -> Any:
        numbers = {"count": np.int32(0), "at": np.int32(at), "value": np.float32(value)}
        return {"adam": _ADAM.init(params)} | {n: jnp.asarray(v) for n, v in numbers.items()}

    return optax.GradientTransformation(init, _poison)


def assert_same(a: Any, b: Any) -> None:
    """Two trees of arrays agree bit for bit."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype and x.shape == y.shape
        assert x.tobytes() == y.tobytes()


def assert_same_run(a: Any, b: Any) -> None:
    """Two runs agree bit for bit in all but their times."""
    assert (a.reason, a.step, a.best_step, a.best_val) == (
        b.reason,
        b.step,
        b.best_step,
        b.best_val,
    )
    assert_same(a.best, b.best)
    assert_same(a.last, b.last)
    assert a.history.arrays().keys() == b.history.arrays().keys()
    assert_same(a.history.arrays(), b.history.arrays())
