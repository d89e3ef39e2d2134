"""SympFormer's attention: a field that pushes the stream and its momentum at once."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from velocity_ledger.model._keys import PathKeys

_STD = 0.02
# Else a device may round what it multiplies.
_einsum = functools.partial(jnp.einsum, precision="highest")


class PhaseAttention(nnx.Module):
    """Linear attention in phase space: rates F of the stream x and G of its momentum p.

        F_i = 1/T sum_(j <= i) (x_i A x_j) p_j
        G_i = -1/T sum_(j <= i) (p_i . p_j) A^T x_j + V x_i

    In matrices F = (1/T) tril(X A X^T) P and G = -(1/T) tril(P P^T) X A + X V^T, over T tokens, of
    one head. It reads [x; p] side by side and returns [F; G]: a field for `Phase`, which knows
    nothing of attention.

        attention = PhaseAttention(width, keys=PathKeys(jax.random.key(0)))
        x_n, _ = integrate([attention] * 4, x, Phase())

    Without the masks this is the gradient of one energy of the whole sequence, 1/(2T) sum_ij
    (x_i A x_j)(p_i . p_j) - 1/2 sum_i x_i V x_i (for symmetric A and V); the gradient of a masked
    energy would show a token its later readers, as happened to the first release. The masks are on
    the sums, so that no later token is read; what results is no gradient any more.

    Source: SympFormer's linear oracle, Stein, Li & Steidl 2026, arXiv 2603.16535. Confirmed are
    both formulas and their masks. Not confirmed: heads, biases, how A is made of queries and keys,
    a norm before the field (`norm` adds one of x alone), the matrices' start (here normal with
    deviation .02), and how the MLP of a layer moves p (a field of an MLP f is [f(x); 0]).
    """

    def __init__(self, width: int, *, keys: PathKeys, norm: bool = False) -> None:
        def matrix(name: str) -> Any:
            drawn = jax.random.normal(keys.at(name).draw(), (width, width), jnp.float32)
            return nnx.Param(_STD * drawn)

        self.coupling = matrix("coupling")
        self.value = matrix("value")
        self.norm = nnx.LayerNorm(width, rngs=keys.at("norm").rngs()) if norm else None

    @jax.named_scope("phase_attention")
    def __call__(
        self, z: Float[Array, "*batch time both"], *, key: Any = None
    ) -> Float[Array, "*batch time both"]:
        del key
        x, p = jnp.split(z, 2, axis=-1)
        x = x if self.norm is None else self.norm(x)
        a, v = self.coupling[...].astype(x.dtype), self.value[...].astype(x.dtype)
        time = x.shape[-2]
        scores = jnp.tril(_einsum("...id,de,...je->...ij", x, a, x))
        products = jnp.tril(_einsum("...id,...jd->...ij", p, p))
        f = _einsum("...ij,...jd->...id", scores, p) / time
        g = -_einsum("...ij,...je,ed->...id", products, x, a) / time
        return jnp.concatenate([f, g + _einsum("...je,de->...jd", x, v)], -1)
