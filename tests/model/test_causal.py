"""Causal attention of heads against the formula, written out."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from velocity_ledger.model import _causal
from velocity_ledger.model._causal import causal, fits_cudnn, fused


def by_hand(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None, rate: float):
    out = np.zeros_like(v)
    for i in range(q.shape[2]):
        scores = np.einsum("bhd,bhkd->bhk", q[:, :, i], k[:, :, : i + 1])
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        if mask is not None:
            weights = np.where(mask[:, :, i, : i + 1], weights / (1 - rate), 0)
        out[:, :, i] = np.einsum("bhk,bhkd->bhd", weights, v[:, :, : i + 1])
    return out


@pytest.mark.parametrize("time", [1, 2, 31, 32, 33, 48])
@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_it_is_softmax_over_earlier_positions(time: int, rate: float) -> None:
    rng = np.random.default_rng(time)
    q, k, v = rng.normal(size=(3, 2, 3, time, 4))
    mask = rng.random((1, 1, time, time)) > rate if rate else None
    found = causal(
        *(jnp.asarray(x, jnp.float32) for x in (q, k, v)),
        mask=mask if mask is None else jnp.asarray(mask),
        rate=rate,
    )
    np.testing.assert_allclose(found, by_hand(q, k, v, mask, rate), atol=2e-5)


@pytest.mark.parametrize("time", [31, 48])
def test_no_position_reads_a_later_one(time: int) -> None:
    x = jnp.asarray(np.random.default_rng(0).normal(size=(1, 1, time, 4)), jnp.float32)

    def at(i: int) -> jax.Array:
        return jnp.abs(jax.grad(lambda x: causal(x, x, x)[0, 0, i].sum())(x)).sum((0, 1, 3))

    for i in (0, time // 2 - 1, time // 2, time - 1):
        read = np.asarray(at(i))
        assert (read[i + 1 :] == 0).all()
        assert (read[:i] > 0).all() or i == 0


def test_the_fused_program_is_asked_for_the_same() -> None:
    """By XLA in place of cuDNN, whose choice is tried where there is a card."""
    rng = np.random.default_rng(0)
    q, k, v = (jnp.asarray(x, jnp.float32) for x in rng.normal(size=(3, 2, 3, 32, 8)))
    found = fused(*(x.swapaxes(1, 2) for x in (q, k, v)), implementation="xla").swapaxes(1, 2)
    np.testing.assert_allclose(found, causal(q, k, v), atol=2e-5)


@pytest.mark.parametrize(
    ("platform", "capability", "size", "fits"),
    [
        ("cpu", None, 64, False),
        ("tpu", None, 64, False),
        ("gpu", None, 64, False),
        ("gpu", "gfx90a", 64, False),
        ("gpu", "7.5", 64, False),
        ("gpu", "8.0", 64, True),
        ("gpu", "8.9", 128, True),
        ("gpu", "8.9", 136, False),
        ("gpu", "9.0", 256, True),
        ("gpu", "10.0", 256, True),
        ("gpu", "12.1", 264, False),
        ("gpu", "9.0", 60, False),
    ],
)
def test_what_cudnn_takes(
    monkeypatch: pytest.MonkeyPatch, platform: str, capability: str | None, size: int, fits: bool
) -> None:
    card = SimpleNamespace(platform=platform, compute_capability=capability)
    monkeypatch.setattr(_causal, "device", lambda: card)
    q = jnp.ones((1, 1, 32, size))
    assert fits_cudnn(q, "bf16") == fits
    assert not fits_cudnn(q, "fp32") and not fits_cudnn(q, "tf32")


def test_on_a_cpu_nothing_is_fused() -> None:
    assert not fits_cudnn(jnp.ones((1, 1, 32, 64)), "bf16")
