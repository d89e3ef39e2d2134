"""Where a velocity starts."""

import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Context, Parameter

STARTS = ("zero", "vector", "tokens", "bootstrap")
_AT_REST = "at the first sub-update, where there is no velocity yet"
_STD = 0.02


def check_start(start: str) -> None:
    """Raise `UserError` for a start of another name."""
    if start not in STARTS:
        raise UserError(f"a velocity starts at {', '.join(STARTS)}, got {start!r}")


def declare_start(start: str, width: int) -> dict[str, Parameter]:
    """Return what a start learns.

    `vector`: one vector that begins at zero. `tokens`: a table of the vocabulary and one of the
    positions, normal with deviation .02, as the papers of 2026 start theirs: they have as many
    parameters as the embedding itself, which a comparison has to count.
    """
    if start == "vector":
        return {"velocity_start": Parameter((width,), 0.0, "model")}
    if start == "tokens":
        return {
            "velocity_token": Parameter(("vocabulary", width), _normal, "model"),
            "velocity_position": Parameter(("context", width), _normal, "model"),
        }
    return {}


def quiet(
    declared: Mapping[str, Parameter], start: str, of: str, names: Sequence[str]
) -> dict[str, Parameter]:
    """Return what is declared, where a start silences these names at the first sub-update."""
    silent = {n: p for n, p in declared.items() if n in names and p.per != "model" and start == of}
    return {**declared, **{n: dc.replace(p, zero_gradient=_AT_REST) for n, p in silent.items()}}


def begin(start: str, v: Any, f: Any, ctx: Context) -> Any:
    """Return the velocity after an update: f itself where a bootstrap begins."""
    return jnp.where(jnp.asarray(ctx.age) == 0, f, v) if start == "bootstrap" else v


def start_velocity(start: str, x0: Any, ctx: Context) -> Any:
    """Return v_0 in the stream's shape; zero where there are no tokens to look up."""
    v = jnp.zeros_like(x0)
    if start == "vector":
        v = v + ctx.parameters["velocity_start"].astype(x0.dtype)
    if start == "tokens" and ctx.inputs is not None:
        token = ctx.parameters["velocity_token"][ctx.inputs]
        position = ctx.parameters["velocity_position"][: x0.shape[-2]]
        v = v + (token + position).astype(x0.dtype)
    return v


def _normal(key: Any, shape: Any, dtype: Any) -> Any:
    return _STD * jax.random.normal(key, shape, dtype)
