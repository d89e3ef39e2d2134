"""What `describe` says of reductions holds in layers of two fields, or says that it does not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import velocity_ledger as vl
from velocity_ledger.experiment._detail import of_one_kind
from velocity_ledger.integrators import reductions
from velocity_ledger.stream import SubUpdate, bind, run_layers

WIDTH = 4
X = jnp.asarray(np.random.default_rng(0).normal(size=(1, 2, WIDTH)), jnp.float32)
FIELDS = {
    "attention": bind(lambda x: jnp.tanh(x[..., ::-1] + 0.3)),
    "mlp": bind(lambda x: 0.4 * jnp.tanh(x) + 0.1),
}
TOLD = [(name, reduction) for name in vl.names() for reduction in reductions(name)]
# Of those that cut a layer as the other one does, a few.
ALIKE = {"ledger", "nesterov", "hyper-connections"}
COMPARED = [(n, r) for n, r in TOLD if not r.evaluated and (n in ALIKE or of_one_kind(n, r))]


def after_two_layers(form):
    integrator = vl.parse(form)
    cut = integrator.splitting
    n = 2 * len(cut.kinds)
    own = {
        name: p.sized(sub_updates=n).initial(jax.random.key(0))
        for name, p in integrator.parameters(WIDTH).items()
    }
    arranged = cut.arrange({name: FIELDS[name] for name in cut.fields})
    layer = tuple(SubUpdate(f, own, kind) for f, kind in zip(arranged, cut.kinds, strict=True))
    return np.asarray(run_layers([layer, layer], X, integrator)[0])


@pytest.mark.parametrize(
    ("name", "reduction"), COMPARED, ids=[f"{n}-{r.setting}-{r.to}" for n, r in COMPARED]
)
def test_a_reduction_holds_in_layers_unless_it_is_said_to_be_of_one_kind(name, reduction):
    edge = after_two_layers(f"{name}({reduction.setting})")
    other = after_two_layers(reduction.to)
    if of_one_kind(name, reduction):
        assert np.any(edge != other)
    else:
        np.testing.assert_allclose(edge, other, rtol=0, atol=reduction.tolerance)


def test_both_kinds_are_told():
    told = {name for name, reduction in TOLD if of_one_kind(name, reduction)}
    assert {"split-ledger", "bdia", "denseformer"} <= told
    assert not told & {"ledger", "nesterov", "hyper-connections", "gated-rk2"}
