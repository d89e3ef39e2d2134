"""Products of matrices in the precision that the configuration asks for."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from velocity_ledger.machine import platform
from velocity_ledger.model._config import Precision


def product(
    indices: str, a: Float[Array, "..."], b: Float[Array, "..."], precision: Precision
) -> Float[Array, "..."]:
    """Return `einsum(indices, a, b)`; every index stands in two of the three arrays, or in all.

        fp32    in the arrays' own float type, on any device
        tf32    the same, but on an NVIDIA GPU operands are rounded to 10 bits
        bf16    operands, those of the derivative too, are rounded to 7 bits, and so is their sum,
                which is made in float32

    Its dtype is the wider of the two arrays'. In bf16 it has a reverse derivative only.
    """
    if precision == "bf16":
        return _half(indices, a, b)
    dtype = jnp.promote_types(a.dtype, b.dtype)
    # By default a TPU would round to 7 bits.
    rounds = precision == "tf32" and platform() == "gpu"
    how = jax.lax.Precision.DEFAULT if rounds else jax.lax.Precision.HIGHEST
    return jnp.einsum(indices, a.astype(dtype), b.astype(dtype), precision=how)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _half(indices: str, a: Any, b: Any) -> Any:
    return _forward(indices, a, b)[0]


def _forward(indices: str, a: Any, b: Any) -> Any:
    small = a.astype(jnp.bfloat16), b.astype(jnp.bfloat16)
    # Arrays of no size keep the dtypes that the gradients must have.
    types = jnp.zeros(0, a.dtype), jnp.zeros(0, b.dtype)
    wide = jnp.promote_types(a.dtype, b.dtype)
    return _rounded(indices, *small).astype(wide), (*small, *types)


def _backward(indices: str, kept: Any, gradient: Any) -> Any:
    a, b, like_a, like_b = kept
    first, second, out = _parts(indices)
    g = gradient.astype(jnp.bfloat16)
    of_a = _rounded(f"{out},{second}->{first}", g, b)
    of_b = _rounded(f"{first},{out}->{second}", a, g)
    return of_a.astype(like_a.dtype), of_b.astype(like_b.dtype)


_half.defvjp(_forward, _backward)


def _rounded(indices: str, a: Any, b: Any) -> Any:
    """The product of small arrays, summed in float32 and rounded."""
    if platform() == "cpu":
        return _for_cpu(indices, a, b)
    return jnp.einsum(indices, a, b)


def _for_cpu(indices: str, a: Any, b: Any) -> Any:
    """The same, where XLA's CPU has a quick product: the first array's last axis is summed over.

    The quick one, which uses the matrix units where there are some, takes the second array either
    way, but refuses a first one whose rows are not contiguous: a slow one then does it.
    """
    first, second, out = _parts(indices)
    if out[-2] in second:
        first, second, a, b = second, first, b, a
    (summed,) = set(first) & set(second) - set(out)
    if first[-1] == summed:
        return jnp.einsum(f"{first},{second}->{out}", a, b)
    # To copy `a`, or `b` and then the result: a number of the latter two, whose copies nothing
    # fuses with, is counted 9/4 times. Which way is taken changes the time alone.
    if 4 * a.size < 9 * (b.size + _size(out, first, a, second, b)):
        return jnp.einsum(f"{_turned(first)},{second}->{out}", _relaid(a), b)
    across = jnp.einsum(f"{_turned(second)},{first}->{_turned(out)}", _relaid(b), a)
    return _relaid(jax.lax.optimization_barrier(across))


def _turned(letters: str) -> str:
    return letters[:-2] + letters[-1] + letters[-2]


def _size(out: str, first: str, a: Any, second: str, b: Any) -> int:
    known = dict(zip(first + second, a.shape + b.shape, strict=True))
    return math.prod(known[letter] for letter in out)


def _relaid(x: Any) -> Any:
    """The last two axes exchanged in memory: of a mere transpose XLA only notes the order."""
    across = jnp.swapaxes(x, -1, -2)
    return across[..., jnp.arange(across.shape[-2]), :]


def _parts(indices: str) -> tuple[str, str, str]:
    left, _, out = indices.partition("->")
    first, _, second = left.partition(",")
    return first, second, out
