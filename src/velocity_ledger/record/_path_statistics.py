"""The path through depth, reduced per token where the states are."""

from typing import Any

import jax.numpy as jnp

from velocity_ledger.integrators import Context, Info
from velocity_ledger.record._geometry import angle, split_norm


class PathStatistics:
    """Keep lengths, norms and angles of the path of every token.

    With states x_0..x_n and steps d_k = x_k - x_{k-1}, the recorded value is a dict of float32
    arrays. Per sub-update, [n, *batch]:

        step_length     |d_k|
        raw_step        length of the step before the geometry acts
        increment       length of the field's output
        velocity_norm   |v_k|; absent for an integrator without a velocity
        stream_norm     |x_k|
        turning_angle   degrees between d_{k-1} and d_k; NaN for the first and where either is zero
        angular_step    degrees between x_{k-1} and x_k; NaN where either is zero

    Per token, [*batch]:

        initial_norm    |x_0|
        path_length     sum of |d_k|
        chord           |x_n - x_0|
        straightness    chord / path length, NaN for a path of length zero
        path_over_norm  path length / |x_n|, which does not depend on the stream's scale
        angular_path    sum of the angular steps that are defined, degrees
        zero_steps      number of steps of length zero

    Nothing as large as [n, *batch, width] is kept.
    """

    def init(self, x0: Any) -> Any:
        norm, direction = split_norm(x0)
        zero = jnp.zeros_like(norm)
        return {
            "x0": x0.astype(jnp.float32),
            "x_direction": direction,
            "x_norm": norm,
            "step_direction": jnp.zeros_like(direction),
            "step_length": zero,
            "initial_norm": norm,
            "path_length": zero,
            "angular_path": zero,
            "zero_steps": zero,
        }

    def update(
        self, kept: Any, x_before: Any, x_after: Any, info: Info, ctx: Context
    ) -> tuple[Any, Any]:
        del x_before, ctx
        length, direction = split_norm(info.step)
        norm, x_direction = split_norm(x_after)
        moved = (length > 0) & (kept["step_length"] > 0)
        turning = jnp.where(moved, angle(kept["step_direction"], direction), jnp.nan)
        turned = (norm > 0) & (kept["x_norm"] > 0)
        angular = jnp.where(turned, angle(kept["x_direction"], x_direction), jnp.nan)
        row = {
            "step_length": length,
            "raw_step": split_norm(info.raw_step)[0],
            "increment": split_norm(info.increment)[0],
            "stream_norm": norm,
            "turning_angle": turning,
            "angular_step": angular,
        }
        if info.velocity is not None:
            row["velocity_norm"] = split_norm(info.velocity)[0]
        kept = kept | {
            "x_direction": x_direction,
            "x_norm": norm,
            "step_direction": direction,
            "step_length": length,
            "path_length": kept["path_length"] + length,
            "angular_path": kept["angular_path"] + jnp.where(turned, angular, 0.0),
            "zero_steps": kept["zero_steps"] + (length == 0),
        }
        return kept, row

    def finish(self, kept: Any, rows: Any, x_n: Any) -> Any:
        chord = split_norm(x_n.astype(jnp.float32) - kept["x0"])[0]
        path, norm = kept["path_length"], kept["x_norm"]
        per_token = {
            "initial_norm": kept["initial_norm"],
            "path_length": path,
            "chord": chord,
            "straightness": jnp.where(path > 0, chord / jnp.where(path > 0, path, 1), jnp.nan),
            "path_over_norm": jnp.where(norm > 0, path / jnp.where(norm > 0, norm, 1), jnp.nan),
            "angular_path": kept["angular_path"],
            "zero_steps": kept["zero_steps"],
        }
        return {**(rows or {}), **per_token}
