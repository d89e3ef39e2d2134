"""The GPT over the four variants: counts, exactness, causality, pairing."""

import dataclasses as dc
import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import velocity_ledger as vl
from velocity_ledger.record import PathStatistics, States

FOUR = ("plain", "ledger", "ngpt-lite", "ngpt-ledger")
SMALL = vl.ModelConfig(layers=2, width=16, heads=2, hidden=24, context=12, vocabulary=11)
DROPOUT = jax.random.key(3)
both_layouts = pytest.mark.parametrize("scan", [False, True], ids=["unrolled", "scanned"])
each_variant = pytest.mark.parametrize("variant", FOUR)
# What the two in the middle are made of is in the last; the contract has a GPT of every name.
BETWEEN = [pytest.param(variant, marks=pytest.mark.slow) for variant in FOUR[1:3]]
first_and_last = pytest.mark.parametrize("variant", [FOUR[0], *BETWEEN, FOUR[3]])
each_in_a_layout = pytest.mark.parametrize(
    ("variant", "scan"),
    [
        pytest.param(
            variant,
            scan,
            id=f"{'scanned' if scan else 'unrolled'}-{variant}",
            marks=(pytest.mark.slow,) if scan and variant in FOUR[1:3] else (),
        )
        for scan in (False, True)
        for variant in FOUR
    ],
)


def tokens(seed=0, batch=3, time=12):
    return jax.random.randint(jax.random.key(seed), (batch, time), 0, SMALL.vocabulary)


@functools.cache
def model(variant, scan=False, seed=0):
    return vl.GPT(dc.replace(SMALL, scan=scan), vl.parse(variant), rngs=seed)


@functools.cache
def logits_program(variant, scan):
    graph, params, rest = nnx.split(model(variant, scan), nnx.Param, ...)
    run = jax.jit(lambda ids, key: nnx.merge(graph, params, rest)(ids, key=key))
    return lambda ids, key=None: run(ids, key)


@pytest.mark.parametrize(
    ("variant", "count"),
    [
        ("plain", 2_724_864),
        ("ledger", 2_724_864),
        ("ngpt-lite", 2_722_560),
        ("ngpt-ledger", 2_722_560),
    ],
)
@both_layouts
def test_parameters_of_the_published_configuration(variant, count, scan):
    config = vl.ModelConfig(scan=scan)
    skeleton = nnx.eval_shape(lambda: vl.GPT(config, vl.parse(variant), rngs=0))
    assert vl.count_parameters(skeleton) == count
    d, f, v, t, n = config.width, config.hidden, config.vocabulary, config.context, config.layers
    formula = v * d + t * d + n * (4 * (d * d + d) + 2 * d * f + f + d + 4 * d) + 2 * d + d * v
    assert formula == 2_724_864


@each_variant
def test_declared_parameters_are_the_models_real_ones(variant):
    integrator = vl.parse(variant)
    ours = {n for n in model(variant).export_weights() if ".integrator." in n or "learned" in n}
    per = {n: p.per for n, p in integrator.parameters(SMALL.width).items()}
    expected = {
        f"blocks.{i}.integrator.{kind}.{name}"
        for i in range(SMALL.layers)
        for kind in ("attention", "mlp")
        for name in per
    }
    assert set(per.values()) <= {"sub_update"}
    assert ours == expected


@each_in_a_layout
def test_every_parameter_gets_a_gradient(variant, scan):
    graph, params, rest = nnx.split(model(variant, scan), nnx.Param, ...)
    gradient = jax.grad(lambda p: jnp.sum(nnx.merge(graph, p, rest)(tokens())[..., 0] ** 2))(params)
    weights = model(variant, scan).export_weights(gradient)
    # Adding a constant to all keys of a head moves all its scores alike: softmax does not see it.
    silent = {n for n, g in weights.items() if not np.any(np.abs(g) > 1e-9)}
    assert silent <= {f"blocks.{i}.attention.key.bias" for i in range(SMALL.layers)}


@first_and_last
def test_unrolled_and_scanned_agree(variant):
    a, b = model(variant, False), model(variant, True)
    left, right = a.export_weights(), b.export_weights()
    assert list(left) == list(right)
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)
    for key in (None, DROPOUT):
        one, two = (logits_program(variant, scan)(tokens(), key) for scan in (False, True))
        np.testing.assert_allclose(one, two, atol=5e-6)
    assert float(jnp.abs(one - logits_program(variant, False)(tokens())).max()) > 1e-2


@first_and_last
@both_layouts
def test_no_logit_sees_a_later_token(variant, scan):
    """Bit for bit, dropout on: a changed token j changes no logit before j, and one from j on."""
    run = logits_program(variant, scan)
    for key in (None, DROPOUT):
        before = run(tokens(), key)
        for j in (1, 5, 11):
            changed = tokens().at[:, j].add(1) % SMALL.vocabulary
            after = run(changed, key)
            np.testing.assert_array_equal(before[:, :j], after[:, :j])
            assert bool(jnp.any(before[:, j] != after[:, j]))


@each_variant
def test_runs_of_one_seed_start_from_the_same_weights(variant):
    plain, other = model("plain").export_weights(), model(variant).export_weights()
    shared = plain.keys() & other.keys()
    assert len(shared) >= len(plain) - 4 * SMALL.layers
    for name in shared:
        np.testing.assert_array_equal(plain[name], other[name], err_msg=name)
    another_seed = model(variant, seed=1).export_weights()
    assert any(np.any(other[n] != another_seed[n]) for n in shared if n.endswith("kernel"))


def test_no_two_parameters_share_their_draw():
    weights = model("plain").export_weights()
    kernels = [w.ravel()[:50].tobytes() for n, w in weights.items() if n.endswith("kernel")]
    assert len(set(kernels)) == len(kernels)


OPTIMIZER = optax.adamw(1e-2)


@functools.partial(jax.jit, static_argnums=0)
def step(graph, params, state, rest, key, index):
    """One optimizer step; models of one structure share the program."""

    def objective(trial):
        own = None if key is None else jax.random.fold_in(key, index)
        out = nnx.merge(graph, trial, rest)(tokens(), key=own)
        losses = optax.softmax_cross_entropy_with_integer_labels(out[:, :-1], tokens()[:, 1:])
        return losses.mean(), out

    (loss, out), gradient = jax.value_and_grad(objective, has_aux=True)(params)
    updates, state = OPTIMIZER.update(gradient, state, params)
    return optax.apply_updates(params, updates), state, (loss, out, gradient)


def trained(integrator, scan, key, steps=5):
    """Five optimizer steps; all that came out of each, and the weights after them."""
    made = vl.GPT(dc.replace(SMALL, scan=scan), integrator, rngs=0)
    graph, params, rest = nnx.split(made, nnx.Param, ...)
    state = OPTIMIZER.init(params)
    seen = []
    for index in range(steps):
        params, state, result = step(graph, params, state, rest, key, index)
        seen.append(result)
    return jax.tree.leaves((seen, params))


# Each layout and each mode is in one of the fast two; a step of training, unrolled, is
# test_convert's.
@pytest.mark.parametrize(
    ("scan", "key"),
    [
        pytest.param(False, None, id="unrolled-eval"),
        pytest.param(True, DROPOUT, id="scanned-dropout"),
        pytest.param(False, DROPOUT, id="unrolled-dropout", marks=pytest.mark.slow),
        pytest.param(True, None, id="scanned-eval", marks=pytest.mark.slow),
    ],
)
def test_mu_zero_is_plain_bit_for_bit(scan, key):
    """Compiled: losses, logits and gradients of five steps, and the weights after them."""
    plain = trained(vl.plain(), scan, key)
    ledger = trained(vl.ledger(mu=0.0), scan, key)
    assert len(plain) == len(ledger)
    assert all(np.array_equal(a, b) for a, b in zip(plain, ledger, strict=True))
    other = trained(vl.ledger(mu=0.1), scan, key)
    assert not all(np.array_equal(a, b) for a, b in zip(plain, other, strict=True))


def test_changing_mu_compiles_nothing():
    traces = []

    @jax.jit
    def run(params, rest, ids):
        traces.append(1)
        return nnx.merge(graph, params, rest)(ids)

    graph, params, _ = nnx.split(vl.GPT(SMALL, vl.ledger(), rngs=0), nnx.Param, ...)
    results = []
    for mu in (0.9, 0.5):
        other, _, rest = nnx.split(vl.GPT(SMALL, vl.ledger(mu=mu), rngs=0), nnx.Param, ...)
        assert other == graph
        results.append(run(params, rest, tokens()))
    assert len(traces) == 1
    assert bool(jnp.any(results[0] != results[1]))


def test_the_model_gives_its_integrator_back():
    for form in (*FOUR, "ledger(mu=0.95)", "ngpt-lite(alpha=0.05)"):
        assert vl.GPT(SMALL, vl.parse(form), rngs=0).integrator == vl.parse(form)


@each_in_a_layout
def test_the_recorded_path(variant, scan):
    net = model(variant, scan)
    logits, path = net(tokens(), record=PathStatistics())
    np.testing.assert_allclose(logits, net(tokens()), atol=1e-5)
    n = SMALL.sub_updates
    assert path["step_length"].shape == (n, 3, 12)
    assert path["chord"].shape == (3, 12)
    assert ("velocity_norm" in path) == ("ledger" in variant)
    _, states = net(tokens(), record=States())
    assert states["x"].shape == (n + 1, 3, 12, SMALL.width)
    length = jnp.linalg.norm(jnp.diff(states["x"], axis=0), axis=-1)
    np.testing.assert_allclose(path["step_length"], length, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(path["path_length"], length.sum(0), rtol=1e-4)


def test_the_stream_starts_with_the_published_norm():
    config = dc.replace(SMALL, width=192, heads=4)
    graph, state = nnx.split(vl.GPT(config, vl.plain(), rngs=0))

    @jax.jit
    def initial_norm(state):  # alone, it is all that is compiled
        return nnx.merge(graph, state)(tokens(), record=PathStatistics())[1]["initial_norm"]

    assert float(initial_norm(state).mean()) == pytest.approx(2**0.5, rel=0.05)


def test_dropout_is_on_exactly_with_a_key():
    run = logits_program("plain", False)
    np.testing.assert_array_equal(run(tokens()), run(tokens()))
    np.testing.assert_array_equal(run(tokens(), DROPOUT), run(tokens(), DROPOUT))
    assert bool(jnp.any(run(tokens(), DROPOUT) != run(tokens(), jax.random.key(4))))
    none = vl.GPT(dc.replace(SMALL, dropout=0.0), vl.plain(), rngs=0)
    np.testing.assert_allclose(none(tokens(), key=DROPOUT), run(tokens()), atol=2e-6)


@both_layouts
def test_weights_round_trip_by_name(scan):
    source, target = (
        model("ngpt-ledger", not scan, 0),
        vl.GPT(dc.replace(SMALL, scan=scan), vl.ngpt_ledger(), rngs=5),
    )
    weights = source.export_weights()
    assert all(w.flags.c_contiguous for w in weights.values())
    target.import_weights(weights)
    np.testing.assert_allclose(target(tokens()), source(tokens()), atol=5e-6)


def test_weights_that_do_not_fit_are_named():
    net = vl.GPT(SMALL, vl.plain(), rngs=0)
    weights = net.export_weights()
    missing = {n: w for n, w in weights.items() if n != "head.kernel"}
    with pytest.raises(vl.UserError, match=r"lack head\.kernel"):
        net.import_weights(missing)
    with pytest.raises(vl.UserError, match="no parameter spare"):
        net.import_weights({**weights, "spare": np.zeros(1)})
    with pytest.raises(vl.UserError, match=r"norm\.bias has shape \(3,\)"):
        net.import_weights({**weights, "norm.bias": np.zeros(3)})


def test_more_tokens_than_the_context_are_refused():
    with pytest.raises(vl.UserError, match="13 tokens do not fit the context of 12"):
        model("plain")(jnp.zeros((1, 13), jnp.int32))


@pytest.mark.parametrize(
    ("ids", "word"),
    [
        (jnp.zeros(3, jnp.int32), r"\[batch, time\], got shape \(3,\)"),
        (jnp.zeros((1, 0), jnp.int32), r"got shape \(1, 0\)"),
        (jnp.full((1, 3), 11), r"in 0\.\.10, got 11 to 11"),
        (jnp.full((1, 3), -1), r"in 0\.\.10, got -1 to -1"),
    ],
)
def test_tokens_that_no_embedding_has(ids, word):
    """An embedding would give NaN for the one and another token's row for the other."""
    net = model("plain")
    try:
        net(ids)
    except Exception as error:  # the shape is refused by the types first, where they are checked
        assert isinstance(error, vl.UserError) or ids.ndim != 2
        if isinstance(error, vl.UserError):
            assert re.search(word, str(error))
    else:
        pytest.fail("accepted")


def test_flops_count_the_matrix_products():
    """XLA's own count of the forward pass is larger by norms and activations only."""
    config = vl.ModelConfig(layers=2, width=64, heads=2, hidden=256, context=64, vocabulary=64)
    graph, state = nnx.split(vl.GPT(config, vl.plain(), rngs=0))
    ids = jnp.zeros((4, 64), jnp.int32)
    cost = jax.jit(lambda s, i: nnx.merge(graph, s)(i)).lower(state, ids).compile()
    analysis = cost.cost_analysis()
    analysis = analysis[0] if isinstance(analysis, list) else analysis
    assert analysis is not None
    ours = vl.GPT(config, vl.plain(), rngs=0).flops_per_token() * ids.size
    assert ours <= analysis["flops"] < 1.25 * ours


def test_a_users_own_integrator_moves_the_gpt():
    class Half(vl.Integrator):
        def step(self, field, stream, state, ctx):
            f = field(stream)
            return stream + 0.5 * f, state, vl.Info(increment=f, raw_step=0.5 * f, step=0.5 * f)

    own, ours = (vl.GPT(SMALL, i, rngs=0)(tokens()) for i in (Half(), vl.plain(h=0.5)))
    np.testing.assert_allclose(own, ours, atol=1e-6)


@pytest.mark.parametrize("per", ["model", "layer", "sub_update"])
@both_layouts
def test_parameters_are_created_where_they_are_declared(per, scan):
    class Learns(vl.Integrator):
        def parameters(self, width):
            return {"scale": vl.Parameter(shape=(width,), init=0.5, per=per)}

        def step(self, field, stream, state, ctx):
            f = field(stream)
            step = ctx.parameters["scale"] * f
            return stream + step, state, vl.Info(increment=f, raw_step=step, step=step)

    net = vl.GPT(dc.replace(SMALL, scan=scan), Learns(), rngs=0)
    copies = {"model": 1, "layer": SMALL.layers, "sub_update": SMALL.sub_updates}[per]
    extra = vl.count_parameters(net) - vl.count_parameters(model("plain", scan))
    assert extra == copies * SMALL.width
    np.testing.assert_allclose(
        net(tokens()), vl.GPT(SMALL, vl.plain(h=0.5), rngs=0)(tokens()), atol=5e-6
    )
    own = net.integrator_parameters()["scale"]
    assert own.shape == ((SMALL.width,) if per == "model" else (SMALL.sub_updates, SMALL.width))
