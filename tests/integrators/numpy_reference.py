"""The four variants in NumPy float64, written from their equations and nothing else."""

import numpy as np


def retract(x, radius):
    return radius * x / np.linalg.norm(x, axis=-1, keepdims=True)


def path(
    fields, x0, *, mu=None, h=1.0, damped=True, debias=False, sphere=False, radius=None, alpha=None
):
    """Return the states x_0..x_n, [n + 1, *batch, width]; mu None is Euler."""
    x = np.asarray(x0, np.float64)
    radius = radius or x.shape[-1] ** 0.5
    if sphere:
        x = retract(x, radius)
    v = np.zeros_like(x)
    states = [x]
    for k, field in enumerate(fields):
        f = field(x)
        if mu is None:
            direction = f
        else:
            v = mu * v + ((1 - mu) if damped else 1.0) * f
            direction = v / (1 - mu ** (k + 1)) if debias else v
        step = h * direction * (1.0 if alpha is None else alpha[k])
        x = x + step
        if sphere:
            x = retract(x, radius)
        states.append(x)
    return np.stack(states)
