"""Keys and values that are kept: token after token gives the logits of the whole window."""

import dataclasses as dc
import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import velocity_ledger as vl
from model.test_blocks import CASES, DEEP, noisy
from velocity_ledger.integrators import Field, Splitting
from velocity_ledger.model import GPT, ModelConfig, _cache, generate
from velocity_ledger.model._apart import tokens_apart
from velocity_ledger.model._cache import chunk_of, empty_cache, extend

TINY = ModelConfig(layers=1, width=8, heads=4, hidden=4, context=5, vocabulary=7)
# To compile for speed would take longer than all else.
QUICKLY: dict[str, Any] = {"xla_backend_optimization_level": 0}
FAR = 4e-6  # of float32 logits, beside the largest


def ids_of(config, rows):
    return np.random.default_rng(rows).integers(0, config.vocabulary, (rows, config.context))


def made(integrator, **changes):
    if isinstance(integrator, str):
        integrator = vl.parse(integrator)
    return noisy(GPT(dc.replace(TINY, **changes), integrator, rngs=0))


@functools.partial(jax.jit, static_argnums=(0, 3), compiler_options=QUICKLY)
def both(graph, state, ids, begun):
    """Logits of the window, and those of it column by column after a chunk of `begun` tokens."""
    net, found = nnx.merge(graph, state), []
    cache: Any = empty_cache(net, len(ids))
    if begun:
        logits, cache = extend(net, ids[:, :begun], 0, cache)
        found.append(logits)

    def column(cache, place):
        token = jax.lax.dynamic_slice_in_dim(ids, place, 1, 1)
        logits, cache = extend(net, token, place, cache)
        return cache, logits[:, 0]

    _, columns = jax.lax.scan(column, cache, jnp.arange(begun, ids.shape[1]))
    return net(ids), jnp.concatenate([*found, columns.swapaxes(0, 1)], 1)


def agree(net, rows, begun=0, far=FAR):
    whole, columns = both(*nnx.split(net), ids_of(net.config, rows), begun)
    assert np.abs(whole).max() > 0.1
    np.testing.assert_allclose(columns, whole, rtol=0, atol=far * float(np.abs(whole).max()))


# A stream, a splitting, a memory or a way to ask of their own; others of a kind are slow.
KINDS = (
    "plain", "ngpt-ledger", "split-ledger", "yuriiformer", "bdia", "rk4", "parallel", "macaron",
    "staggered", "muonformer", "soapformer", "manifold-hyper-connections", "denseformer",
)  # fmt: skip
NAMES = [pytest.param(name, marks=() if name in KINDS else pytest.mark.slow) for name in vl.names()]


@pytest.mark.parametrize("name", NAMES)
def test_every_integrator_agrees_with_the_whole_window(name):
    """Whatever it remembers through depth, however often and wherever it asks its fields."""
    net = made(name)
    assert empty_cache(net, 2) is not None
    agree(net, 2, far=2e-4 if net.integrator.amplifies else FAR)


# What the attention of columns has of its own, and sets that hold every other setting. One row
# and more of them are different products.
BLOCKS = {
    "positions=rope": 1, "kv_heads=2": 1, "value_residual=True": 2, "qk_norm=True": 1,
    "norm_scaling=True": 2, "ngpt": 2, "all": 1,
}  # fmt: skip


@pytest.mark.parametrize(("case", "rows"), [*BLOCKS.items(), ("all", 2)])
def test_every_block_agrees_with_the_whole_window(case, rows):
    layers = 2 if case in DEEP else 1
    agree(made("ledger", layers=layers, **CASES[case]), rows, begun=3)


def test_the_blocks_tried_hold_every_setting_that_acts():
    plain = CASES["gpt"] | {"kv_heads": None}
    held = {n for case in BLOCKS for n, value in CASES[case].items() if value != plain[n]}
    # Initial values alone.
    assert set(plain) - held == {"scaled_init", "output_gain"}


@pytest.mark.parametrize(
    ("form", "scan"),
    [
        ("strang", True),
        ("yuriiformer(velocity='tokens')", True),
        ("ngpt-ledger", False),
    ],
)
def test_integrators_and_blocks_together(form, scan):
    """Tables of places, fields without a norm, several evaluations, values of another layer."""
    case = CASES["all"] | {"norm_scaling": form != "ngpt-ledger"}
    agree(made(form, layers=2, scan=scan, **case), 1, begun=2)


class Twice(Splitting):
    """Half of the same attention before and after the MLP."""

    fields: ClassVar[tuple[str, ...]] = ("attention", "mlp")
    kinds: ClassVar[tuple[str, ...]] = ("attention", "mlp", "attention")

    def arrange(self, fields):
        half = Field(fields["attention"], None, _half)
        return half, fields["mlp"], half


def _half(params, x, key):
    return 0.5 * params.draw(key)(x)


@pytest.mark.parametrize("scan", [False, True], ids=["unrolled", "scanned"])
def test_an_entry_belongs_to_an_evaluation(scan):
    """Two evaluations in each of two sub-updates of one attention: four of one layer."""
    net = made(vl.parse("heun").replace(splitting=Twice()), layers=2, scan=scan)
    cache: Any = empty_cache(net, 2)
    layers = [cache] if scan else cache
    assert [len(layer) for layer in layers] == [4] * (1 if scan else 2)
    lead = (2,) if scan else ()
    shapes = {leaf.shape for leaf in jax.tree.leaves(cache)}
    assert shapes == {(*lead, 2, 4, 2, 5), (*lead, 2, 4, 5, 2)}
    agree(net, 2)


def test_room_is_kept_once_for_heads_that_share_keys_and_in_whole_chunks():
    net = made("plain", kv_heads=2, context=21)
    assert chunk_of(net) == 16 and chunk_of(made("plain")) == 5
    cache: Any = empty_cache(net, 3)
    assert [leaf.shape for leaf in jax.tree.leaves(cache)] == [(3, 2, 2, 32), (3, 2, 32, 2)]


class Own(vl.Integrator):
    """Euler, whose field is asked as a class says."""

    def step(self, field, stream, state, ctx):
        f = self.asked(field, stream)
        return stream + f, state, vl.Info(f, f, f)

    def asked(self, field, x):
        return field(x)


class Looped(Own):
    def asked(self, field, x):
        return jax.lax.fori_loop(0, 2, lambda _, y: y + 0.5 * field(y), x) - x


class Compiled(Own):
    def asked(self, field, x):
        return jax.jit(lambda y: field(y))(x)


class Branching(Own):
    def asked(self, field, x):
        return jax.lax.cond(x[0, 0, 0] > 0, lambda y: field(y), lambda y: 0.5 * field(y), x)


class Sensitive(Own):
    def asked(self, field, x):
        return jax.jvp(lambda y: field(y), (x,), (x,))[1]


class ReadsBack(Own):
    """It looks at the tokens before, and says so."""

    tokens_apart: ClassVar[bool] = False

    def asked(self, field, x):
        return jnp.cumsum(field(x), -2)


class ReadsBackInSilence(ReadsBack):
    """It looks at the tokens before, and does not say so."""

    tokens_apart: ClassVar[bool] = True


class LearnsToReadBack(Own):
    """It learns how much it looks at the token before: not at all, at first."""

    def parameters(self, width):
        return {"back": vl.Parameter((width,), 0.0)}

    def step(self, field, stream, state, ctx):
        f = field(stream)
        before = jnp.pad(f, ((0, 0), (1, 0), (0, 0)))[:, :-1]
        step = f + ctx.parameters["back"] * before
        return stream + step, state, vl.Info(f, step, step)


class PerContext(Own):
    """It learns one number a place of the window in a way that is no table."""

    def parameters(self, width):
        size: Any = lambda context: context + 1  # noqa: E731
        return {"late": vl.Parameter((size,), 1.0, "model")}

    def asked(self, field, x):
        return field(x)


@pytest.mark.parametrize("scan", [False, True], ids=["unrolled", "scanned"])
@pytest.mark.parametrize("kind", [Looped, Compiled, Branching, Sensitive, ReadsBack, PerContext])
def test_what_cannot_be_kept_is_not(kind, scan):
    assert empty_cache(made(Own(), scan=scan), 2) is not None
    assert empty_cache(made(kind(), scan=scan), 2) is None


# Whether anything looks from token to token is found out, whatever it says.
LOOKING = [
    (ReadsBack, False),
    (ReadsBackInSilence, False),
    (ReadsBackInSilence, True),
    (LearnsToReadBack, False),
]


@pytest.mark.parametrize(
    ("kind", "scan"), [pytest.param(Looped, False, marks=pytest.mark.slow), *LOOKING]
)
def test_without_a_cache_every_token_is_drawn_from_the_whole_window(kind, scan):
    """Below the context and, both ways, past it."""
    net = made(kind(), scan=scan)
    forward = jax.jit(lambda ids: net(ids))
    for past, half in (("exact", 5), ("refill", 2)):
        drawn = generate(net, ids_of(TINY, 2)[:, :3], length=9, temperature=0.0, past=past)
        window = ids_of(TINY, 2)[:, :3]
        for token in drawn.T:
            window = window if window.shape[1] <= 5 else window[:, -half:]
            padded = np.pad(window, ((0, 0), (0, 5 - window.shape[1])))
            logits = forward(padded)[:, window.shape[1] - 1]
            np.testing.assert_array_equal(token, logits.argmax(-1))
            window = np.concatenate([window, token[:, None]], 1)


@pytest.mark.parametrize("scan", [False, True], ids=["unrolled", "scanned"])
def test_whether_tokens_are_apart_is_found_out(scan):
    """With what was learned at hand, not as it once was."""
    kinds = {Own: True, Looped: True, ReadsBackInSilence: False, LearnsToReadBack: False}
    for kind, apart in kinds.items():
        assert tokens_apart(*nnx.split(made(kind(), scan=scan, layers=2))) == apart, kind
    net = GPT(dc.replace(TINY, scan=scan), LearnsToReadBack(), rngs=0)
    assert tokens_apart(*nnx.split(net))


@pytest.mark.parametrize("name", NAMES)
def test_of_every_integrator_tokens_are_apart(name):
    assert tokens_apart(*nnx.split(made(name, context=21)))


def test_elsewhere_than_on_a_cpu_a_prompt_is_read_at_once(monkeypatch):
    net = made("plain", context=21)
    start = ids_of(net.config, 3)[:, :18]
    expected = generate(net, start[:2], length=3)
    monkeypatch.setattr(_cache, "platform", lambda: "gpu")
    assert chunk_of(net) == 21
    shapes = {leaf.shape for leaf in jax.tree.leaves(empty_cache(net, 2))}
    assert shapes == {(2, 4, 2, 21), (2, 4, 21, 2)}
    # Another number of rows, so that it is another program.
    np.testing.assert_array_equal(generate(net, start, length=3)[:2], expected)
