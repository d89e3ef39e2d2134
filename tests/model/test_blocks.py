"""Block settings: each does what its equation says, and works wherever the defaults do."""

import dataclasses as dc
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from hypothesis import given, settings, strategies as st

import velocity_ledger as vl
from model.numpy_gpt import Numpy
from velocity_ledger.model import BLOCKS, rotate
from velocity_ledger.model._keys import PathKeys
from velocity_ledger.model._norm import norm

SMALL = vl.ModelConfig(layers=2, width=16, heads=4, hidden=12, context=8, vocabulary=11)
TOKENS = np.random.default_rng(0).integers(0, SMALL.vocabulary, (2, 8))
DROPOUT = jax.random.key(3)
# Every setting away from its default, alone; then the named sets.
ALONE = {
    "norm": "rms",
    "positions": "rope",
    "activation": "swiglu",
    "kv_heads": 2,
    "bias": False,
    "tied": True,
    "final_norm": False,
    "init": "width",
    "scaled_init": True,
    "norm_scaling": True,
    "value_residual": True,
    "qk_norm": True,
    "hidden_scale": True,
    "logit_scale": True,
    "unit_weights": True,
}
CASES = {f"{name}={value}": {name: value} for name, value in ALONE.items()} | BLOCKS
CASES["all"] = BLOCKS["ngpt"] | {
    "norm": "rms", "positions": "learned", "kv_heads": 1, "tied": True, "final_norm": True,
    "norm_scaling": True, "value_residual": True,
}  # fmt: skip
each_case = pytest.mark.parametrize("case", CASES, ids=list(CASES))


def test_every_setting_has_a_case():
    settings = set(BLOCKS["gpt"]) | {"kv_heads"}
    # A number among initial values compiles to nothing of its own: tried below.
    assert settings == set(ALONE) | {"output_gain"}
    default = {f.name: f.default for f in dc.fields(vl.ModelConfig)}
    assert all(default[name] != value for name, value in ALONE.items())


def config(case, **changes):
    return dc.replace(SMALL, **CASES[case], **changes)


def noisy(model, seed=1):
    """Weights moved off their start, so that scales of 1 and biases of 0 are told apart."""
    random = np.random.default_rng(seed)
    weights = model.export_weights()
    model.import_weights(
        {n: (w + 0.1 * random.normal(size=w.shape)).astype(w.dtype) for n, w in weights.items()}
    )
    return model


@functools.cache
def model(case, scan=False, form="plain"):
    return noisy(vl.GPT(config(case, scan=scan), vl.parse(form), rngs=0))


@functools.partial(jax.jit, static_argnums=0)
def forward(graph, state, ids, key):
    return nnx.merge(graph, state)(ids, key=key)


def logits(net, ids=TOKENS, key=None):
    """Models of one structure share a program."""
    return np.asarray(forward(*nnx.split(net), ids, key))


# What these say depends on the depth: the first layer, or the number of them.
DEEP = {"norm_scaling=True", "value_residual=True", "scaled_init=True", "all", *BLOCKS}


@functools.cache
def judged(case):
    """The model of a case, of one layer where a second would be the first again."""
    layers = SMALL.layers if case in DEEP else 1
    return noisy(vl.GPT(config(case, layers=layers), vl.plain(), rngs=0))


@functools.cache
def program(case):
    """One program a case: logits, and the gradient of a sum over them."""
    graph, params, rest = nnx.split(judged(case), nnx.Param, ...)

    def objective(params, ids):
        out = nnx.merge(graph, params, rest)(ids)
        return jnp.sum(out[..., ::2] ** 2), out

    run = jax.jit(jax.grad(objective, has_aux=True))
    return lambda ids: run(params, ids)


@each_case
def test_the_equations(case):
    """Against NumPy in float64, from the exported weights."""
    net = judged(case)
    by_hand = Numpy(net.export_weights(), net.config)
    wanted = np.stack([by_hand.plain(row) for row in TOKENS])
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(program(case)(TOKENS)[1] / scale, wanted / scale, atol=2e-6)


@each_case
def test_no_logit_sees_a_later_token(case):
    """Bit for bit: a changed token j changes logits from j on, none before."""
    before = program(case)(TOKENS)[1]
    changed = TOKENS.copy()
    changed[:, 4] = (changed[:, 4] + 1) % SMALL.vocabulary
    after = program(case)(changed)[1]
    np.testing.assert_array_equal(before[:, :4], after[:, :4])
    assert bool(jnp.any(before[:, 4] != after[:, 4]))
    assert bool(jnp.any(before[:, 5:] != after[:, 5:]))


@each_case
def test_every_parameter_gets_a_gradient(case):
    net = judged(case)
    gradient = net.export_weights(program(case)(TOKENS)[0])
    silent = {n for n, g in gradient.items() if not np.any(np.abs(g) > 1e-9)}
    # A constant added to all keys of a head moves its scores alike, unless keys are turned or unit.
    assert silent <= {f"blocks.{i}.attention.key.bias" for i in range(net.config.layers)}
    assert all(np.isfinite(g).all() for g in gradient.values())


@pytest.mark.parametrize("case", ["all", "ngpt"])
def test_scanned_and_unrolled_agree(case):
    """Also with dropout, whose masks they share."""
    left, right = model(case), vl.GPT(config(case, scan=True), vl.plain(), rngs=0)
    start = vl.GPT(config(case), vl.plain(), rngs=0).export_weights()
    for name, weight in right.export_weights().items():
        np.testing.assert_array_equal(weight, start[name], err_msg=name)
    right.import_weights(left.export_weights())
    for key in (None, DROPOUT):
        one, two = logits(left, key=key), logits(right, key=key)
        np.testing.assert_allclose(one, two, atol=1e-5 * np.abs(one).max())
    assert np.abs(one - logits(left)).max() > 1e-3
    # Causal with dropout, too.
    changed = TOKENS.copy()
    changed[:, 4] = (changed[:, 4] + 1) % SMALL.vocabulary
    for net, before in ((left, one), (right, two)):
        after = logits(net, changed, DROPOUT)
        np.testing.assert_array_equal(before[:, :4], after[:, :4])
        assert np.any(before[:, 4] != after[:, 4])


# The other splittings hold their fields once, as parallel does, or run one twice.
OTHERS = [pytest.param(form, marks=pytest.mark.slow) for form in ("strang", "bdia")]


@pytest.mark.parametrize("form", ["macaron", "parallel", "nesterov", *OTHERS])
def test_every_splitting_takes_every_setting(form):
    """A field that the blocks hold twice, a layer as one field, and a look-ahead."""
    case = "all"
    net = vl.GPT(config(case), vl.parse(form), rngs=0)
    assert np.isfinite(logits(net, key=DROPOUT)).all()
    blocks = net.blocks[0]
    assert isinstance(blocks.mlp.gate, nnx.Linear)
    assert (getattr(blocks, "mlp_after", None) is not None) == (form == "macaron")


def test_the_default_network_is_the_published_one():
    """Names, shapes and bits of its initial weights, as they were before there were settings."""
    assert dc.replace(vl.ModelConfig(), **BLOCKS["gpt"]) == vl.ModelConfig()
    weights = vl.GPT(SMALL, vl.plain(), rngs=0).export_weights()
    names = {n.partition(".")[2].partition(".")[2] for n in weights if n.startswith("blocks")}
    fields = {f"attention.{n}" for n in ("query", "key", "value", "out")} | {"mlp.up", "mlp.down"}
    expected = {f"{f}.{w}" for f in fields for w in ("kernel", "bias")}
    assert names == expected | {f"{f}.norm.{w}" for f in ("attention", "mlp") for w in (
        "scale", "bias")}  # fmt: skip
    query = weights["blocks.0.attention.query.kernel"]
    key = PathKeys(jax.random.key(0)).at("blocks").at(0).at("attention").at("query")
    linear = nnx.Linear(16, 16, rngs=key.rngs())
    np.testing.assert_array_equal(query, linear.kernel[...])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kv_heads": 3}, "kv_heads must divide the 4 heads"),
        ({"kv_heads": 0}, "kv_heads must divide"),
        ({"positions": "rope", "width": 12}, "a head has 3"),
        ({"norm_scaling": True, "scaled_init": True}, "takes the place of scaled_init"),
        ({"unit_weights": True, "scaled_init": True}, "scaled_init would do nothing"),
        ({"unit_weights": True, "output_gain": 0.5}, "output_gain would do nothing"),
        ({"output_gain": 0.0}, "output_gain must be a number above 0"),
        ({"output_gain": float("nan")}, "output_gain must be a number above 0"),
    ],
    ids=["three", "none", "odd", "damped-twice", "undone", "undone-too", "silent", "nan"],
)
def test_settings_that_exclude_one_another(changes, words):
    with pytest.raises(vl.UserError, match=words):
        dc.replace(SMALL, **changes)


def test_a_setting_that_an_integrator_has_no_use_for():
    with pytest.raises(vl.UserError, match="ngpt-lite has none"):
        vl.GPT(dc.replace(SMALL, norm_scaling=True), vl.ngpt_lite(), rngs=0)


@pytest.mark.parametrize("name", ["norm", "positions", "activation", "init"])
def test_a_choice_that_is_none(name):
    try:
        dc.replace(SMALL, **{name: "other"})
    except Exception as error:  # the types refuse it first, where they are checked
        assert "other" in str(error)
    else:
        pytest.fail("accepted")


# Norms ---------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.integers(0, 2**16), st.floats(-3, 3), st.floats(0.1, 10))
def test_rms_norm_in_closed_form(seed, shift, size):
    """x / rms(x): homogeneous, keeps the mean's direction; LayerNorm takes it away."""
    x = (np.random.default_rng(seed).normal(size=(3, 16)) * size + shift).astype(np.float32)
    made = {
        k: norm(dc.replace(SMALL, norm=k), PathKeys(jax.random.key(0))) for k in ("rms", "layer")
    }
    y = np.asarray(made["rms"](x), np.float64)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(
        y, wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6), atol=1e-5
    )
    # Adding a constant is seen by one and not by the other.
    assert np.abs(made["rms"](x + np.float32(5)) - y).max() > 0.1
    np.testing.assert_allclose(made["layer"](x + np.float32(5)), made["layer"](x), atol=2e-3)


def test_norm_scaling_divides_by_the_root_of_the_layer():
    """By layer, not sub-update; both norms, the first by 1, the final norm not at all."""
    net = vl.GPT(dc.replace(SMALL, layers=3, norm_scaling=True), vl.parse("macaron"), rngs=0)
    for layer, block in enumerate(net.blocks):
        for field in (block.attention, block.mlp, block.mlp_after):
            assert float(field.factor[...]) == pytest.approx((layer + 1) ** -0.5)
    assert not hasattr(net, "factor")
    # It is no parameter: nothing learns it, and no file holds it.
    plain = vl.GPT(dc.replace(SMALL, layers=3), vl.parse("macaron"), rngs=0)
    assert set(net.export_weights()) == set(plain.export_weights())


def test_norm_scaling_is_a_smaller_gain_of_the_norm():
    scaled = vl.GPT(dc.replace(SMALL, norm_scaling=True), vl.plain(), rngs=0)
    weights = scaled.export_weights()
    for layer in range(SMALL.layers):
        for field in ("attention", "mlp"):
            for part in ("scale", "bias"):
                name = f"blocks.{layer}.{field}.norm.{part}"
                weights[name] = weights[name] * np.float32((layer + 1) ** -0.5)
    plain = vl.GPT(SMALL, vl.plain(), rngs=1)
    plain.import_weights(weights)
    np.testing.assert_allclose(logits(plain), logits(scaled), atol=1e-5)


# Positions -----------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.integers(0, 2**16), st.integers(0, 20), st.integers(0, 20), st.integers(1, 20))
def test_scores_of_turned_vectors_depend_on_the_distance(seed, i, j, shift):
    random = np.random.default_rng(seed)
    q, k = random.normal(size=(2, 6)).astype(np.float32)
    turned_q, turned_k = (rotate(jnp.broadcast_to(z, (41, 6))) for z in (q, k))
    score = turned_q @ turned_k.T
    assert float(score[i, j]) == pytest.approx(float(score[i + shift, j + shift]), abs=1e-5)
    np.testing.assert_allclose(turned_q[0], q, atol=1e-7)
    np.testing.assert_allclose(jnp.linalg.norm(turned_q, axis=-1), np.linalg.norm(q), rtol=1e-5)


def test_the_first_pair_turns_by_a_radian_and_halves_are_paired():
    turned = rotate(jnp.zeros((3, 8)).at[:, 0].set(1.0))
    for t in range(3):
        expected = np.zeros(8)
        expected[[0, 4]] = np.cos(t), np.sin(t)
        np.testing.assert_allclose(turned[t], expected, atol=1e-6)


def test_without_a_table_a_model_still_knows_positions():
    net = model("positions=rope")
    assert "position.embedding" not in net.export_weights()
    ids = np.array([[1, 2, 3, 4]])
    swapped = np.array([[2, 1, 3, 4]])
    assert np.abs(logits(net, ids)[0, -1] - logits(net, swapped)[0, -1]).max() > 1e-4


# Attention, MLP and head ---------------------------------------------------------------------


def test_grouped_queries_are_attention_with_repeated_keys_and_values():
    grouped = model("kv_heads=2")
    weights = grouped.export_weights()
    size = SMALL.head_size
    for name in list(weights):
        if ".key." in name or ".value." in name:
            parts = weights[name].reshape(*weights[name].shape[:-1], 2, size)
            weights[name] = parts.repeat(2, axis=-2).reshape(*weights[name].shape[:-1], -1)
    full = vl.GPT(SMALL, vl.plain(), rngs=5)
    full.import_weights(weights)
    np.testing.assert_allclose(logits(full), logits(grouped), atol=1e-5)
    saved = vl.count_parameters(full) - vl.count_parameters(grouped)
    assert saved == SMALL.layers * 2 * (SMALL.width + 1) * SMALL.width // 2


def test_a_tied_head_is_the_table():
    net = model("tied=True")
    assert "head.kernel" not in net.export_weights()
    untied = vl.GPT(SMALL, vl.plain(), rngs=0)
    weights = net.export_weights()
    untied.import_weights({**weights, "head.kernel": weights["token.embedding"].T})
    np.testing.assert_allclose(logits(untied), logits(net), atol=1e-5)


def test_no_bias_leaves_none():
    for name in model("bias=False").export_weights():
        assert not name.endswith("bias")


def test_values_are_mixed_with_the_first_layers():
    """The first layer is as it was; in the others the mean, whichever splitting runs them."""
    one = dc.replace(SMALL, layers=1)
    without, mixed = (
        logits(vl.GPT(dc.replace(one, value_residual=on), vl.plain(), rngs=0))
        for on in (False, True)
    )
    np.testing.assert_allclose(mixed, without, atol=1e-6)
    # With the first layer's values at zero, the second's count half.
    net = vl.GPT(dc.replace(SMALL, value_residual=True), vl.plain(), rngs=0)
    weights = net.export_weights()
    for part in ("kernel", "bias"):
        name = f"blocks.0.attention.value.{part}"
        weights[name] = weights[name] * np.float32(0)
    net.import_weights(weights)
    for part in ("kernel", "bias"):
        name = f"blocks.1.attention.value.{part}"
        weights[name] = weights[name] * np.float32(0.5)
    plain = vl.GPT(SMALL, vl.plain(), rngs=0)
    plain.import_weights(weights)
    np.testing.assert_allclose(logits(net), logits(plain), atol=1e-6)


def test_on_a_sphere_the_first_values_are_read_off_the_sphere():
    changes = {"layers": 1, "value_residual": True}
    one = logits(vl.GPT(dc.replace(SMALL, **changes), vl.ngpt_lite(), rngs=0))
    two = logits(vl.GPT(dc.replace(SMALL, layers=1), vl.ngpt_lite(), rngs=0))
    np.testing.assert_allclose(one, two, atol=1e-6)


# Initial values ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "of_last"),
    [
        ({"scaled_init": True}, (2 * SMALL.layers) ** -0.5),
        ({"output_gain": 0.5}, 0.5),
        ({"scaled_init": True, "output_gain": 0.5}, 0.5 * (2 * SMALL.layers) ** -0.5),
    ],
    ids=["depth", "gain", "both"],
)
def test_scaled_initial_values(changes, of_last):
    """The fields' last matrices, and no other, divided by sqrt(2 layers) or times a gain."""
    usual, scaled = (
        vl.GPT(dc.replace(SMALL, **more), vl.parse("macaron"), rngs=0).export_weights()
        for more in ({}, changes)
    )
    last = {n for n in usual if n.endswith(("out.kernel", "down.kernel"))}
    assert len(last) == 3 * SMALL.layers
    for name in usual:
        factor = of_last if name in last else 1.0
        np.testing.assert_allclose(scaled[name], usual[name] * np.float32(factor), rtol=1e-6)


def test_initial_values_by_the_width():
    config = dc.replace(SMALL, width=64, hidden=256, init="width")
    weights = vl.GPT(config, vl.plain(), rngs=0).export_weights()
    kernels = {n: w for n, w in weights.items() if n.endswith("kernel")}
    assert len(kernels) == 6 * SMALL.layers + 1
    for name, kernel in kernels.items():
        assert kernel.std() == pytest.approx(64**-0.5, rel=0.06), name
        # Lecun-normal is cut at two of its standard deviations.
        assert np.abs(kernel).max() > 2.4 * 64**-0.5


# What reads a model --------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["llama", "kv_heads=2", "value_residual=True"])
def test_flops_count_the_matrix_products(case):
    """XLA's own count is larger by norms, activations and rotations only.

    At an odd length: else a quarter of the attention that ours counts is left out.
    """
    shape = vl.ModelConfig(layers=2, width=64, heads=4, hidden=256, context=63, vocabulary=64)
    net = vl.GPT(dc.replace(shape, **CASES[case]), vl.plain(), rngs=0)
    graph, state = nnx.split(net)
    ids = jnp.zeros((4, 63), jnp.int32)
    found = jax.jit(lambda s, i: nnx.merge(graph, s)(i)).lower(state, ids).compile().cost_analysis()
    assert found is not None
    ours = net.flops_per_token() * ids.size
    assert ours <= found["flops"] < 1.3 * ours


@pytest.mark.parametrize("case", ["llama", "all"])
def test_text_is_continued(case):
    net = model(case)
    """Past the context, where the window slides and positions count anew."""
    prompt = TOKENS[:, :7]
    longer = vl.generate(net, prompt, length=5, temperature=0.0)
    ids = prompt
    for _ in range(5):
        nxt = logits(net, ids[:, -SMALL.context :])[:, -1].argmax(-1)
        ids = np.concatenate([ids, nxt[:, None]], axis=1)
    np.testing.assert_array_equal(longer, ids[:, 7:])


@pytest.mark.parametrize("scan", [False, True], ids=["unrolled", "scanned"])
def test_weights_round_trip_by_name(scan):
    source = model("all", not scan)
    target = vl.GPT(config("all", scan=scan), vl.plain(), rngs=5)
    target.import_weights(source.export_weights())
    for name, weight in source.export_weights().items():
        np.testing.assert_array_equal(target.export_weights()[name], weight)


def test_a_rescaled_alpha_is_another_way_to_store_it():
    """Same start, same stream; only what the optimizer moves is another size."""
    plain, rescaled = (vl.Alpha(alpha=0.05, rescaled=on) for on in (False, True))
    assert plain.parameters(16)["alpha"].init == 0.05
    assert rescaled.parameters(16)["alpha"].init == 0.25
    with pytest.raises(vl.UserError, match="cannot start at 0"):
        vl.Alpha(alpha=0.0, rescaled=True)
