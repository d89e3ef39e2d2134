"""The metrics of a depth path in NumPy float64, written from their definitions."""

import numpy as np
from jaxtyping import Float


def angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Degrees between vectors by arccos of Python-scale cosines; NaN where one is zero."""
    norms = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    cosine = np.sum(a * b, -1) / np.where(norms > 0, norms, np.nan)
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


def path_metrics(
    states: Float[np.ndarray, "states tokens width"],
) -> dict[str, Float[np.ndarray, "*sub_updates tokens"]]:
    """Metrics of the states x_0..x_n of every token."""
    x = np.asarray(states, np.float64)
    steps = x[1:] - x[:-1]
    length = np.linalg.norm(steps, axis=-1)
    path, chord = length.sum(0), np.linalg.norm(x[-1] - x[0], axis=-1)
    norm = np.linalg.norm(x, axis=-1)
    undefined = np.full_like(length[:1], np.nan)
    angular = angle(x[:-1], x[1:])
    return {
        "step_length": length,
        "stream_norm": norm[1:],
        "turning_angle": np.concatenate([undefined, angle(steps[:-1], steps[1:])]),
        "angular_step": angular,
        "initial_norm": norm[0],
        "path_length": path,
        "chord": chord,
        "straightness": chord / np.where(path > 0, path, np.nan),
        "path_over_norm": path / np.where(norm[-1] > 0, norm[-1], np.nan),
        "angular_path": np.nansum(angular, 0),
        "zero_steps": (length == 0).sum(0),
    }
