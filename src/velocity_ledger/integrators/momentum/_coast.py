"""How far a velocity carries the stream when nothing pushes any more."""

from typing import Any

import jax.numpy as jnp

from velocity_ledger.integrators._contract import Context
from velocity_ledger.integrators.coefficient import Coefficient


def coasted(number: Any, name: str, v: Any, ctx: Context) -> Any:
    """Return s/(1 - s) v, the sum of s^j v over j = 1, 2, ...; |s| < 1."""
    s = jnp.asarray(number.value(name, v, ctx) if isinstance(number, Coefficient) else number)
    s = s.astype(jnp.promote_types(v.dtype, jnp.float32))
    return (s / (1 - s)).astype(v.dtype) * v
