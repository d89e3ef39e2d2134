"""Every named integrator in NumPy float64, written from its equation and nothing else.

`STATES[form](fields, x0, own)` returns x_0..x_n, [n + 1, *batch, width]; `own` holds the learned
parameters by name, raw, as the library stores them.
"""

from typing import Any

import numpy as np

LN2 = float(np.log(2))


def sigmoid(r):
    return 1 / (1 + np.exp(-r))


def softplus(r):
    return np.log1p(np.exp(r))


def layer_norm(v, gain):
    z = v - v.mean(-1, keepdims=True)
    return gain * z / np.sqrt((z * z).mean(-1, keepdims=True) + 1e-5)


def retract(x, radius):
    return radius * x / np.linalg.norm(x, axis=-1, keepdims=True)


def tangent(x, v):
    return v - x * (x * v).sum(-1, keepdims=True) / (x * x).sum(-1, keepdims=True)


def euler(h: Any = 1.0, alpha=False, radius=None):
    """x += h_k f; h a number, a function of (k, n, own), alpha from own; on a sphere, retracted."""

    def states(fields, x0, own):
        x = np.asarray(x0, np.float64)
        on_sphere = radius is not None
        r = radius or x.shape[-1] ** 0.5
        x = retract(x, r) if on_sphere else x
        out = [x]
        for k, field in enumerate(fields):
            scale: Any = h(k, len(fields), own) if callable(h) else h
            x = x + scale * (own["alpha"][k] if alpha else 1.0) * field(x)
            x = retract(x, r) if on_sphere else x
            out.append(x)
        return np.stack(out)

    return states


def heavy_ball(mu: Any, h=1.0, damped=True, debias=False, alpha=False, radius=None):
    """v = mu_k v + (1 - mu_k or 1) f; x += h v."""

    def states(fields, x0, own):
        x = np.asarray(x0, np.float64)
        on_sphere = radius is not None
        r = radius or x.shape[-1] ** 0.5
        x = retract(x, r) if on_sphere else x
        v, out = np.zeros_like(x), [x]
        for k, field in enumerate(fields):
            m: Any = mu(k, len(fields), own) if callable(mu) else mu
            v = m * v + ((1 - m) if damped else 1.0) * field(x)
            step = v / (1 - m ** (k + 1)) if debias else v
            x = x + h * (own["alpha"][k] if alpha else 1.0) * step
            x = retract(x, r) if on_sphere else x
            out.append(x)
        return np.stack(out)

    return states


def look_ahead(mu: Any, beta: Any, gamma: Any, norm="none", nu: Any = 1.0):
    """v = beta v + gamma f(x + mu v), normalised or read through a norm; x += nu v."""

    def states(fields, x0, own):
        x = np.asarray(x0, np.float64)
        v, out = np.zeros_like(x), [x]
        for k, field in enumerate(fields):
            now: list[Any] = [s(k, own) if callable(s) else s for s in (mu, beta, gamma, nu)]
            m, b, g, n = now
            v = b * v + g * field(x + m * v)
            read = v if norm == "none" else layer_norm(v, own["velocity_norm"][k])
            v = read if norm == "overwrite" else v
            x = x + n * read
            out.append(x)
        return np.stack(out)

    return states


def squashed(link, name):
    return lambda k, own: link(own[name][k])


def adams_bashforth(h=1.0):
    def states(fields, x0, own):
        x = np.asarray(x0, np.float64)
        before, out = None, [x]
        for field in fields:
            f = field(x)
            x = x + h * (f if before is None else 1.5 * f - 0.5 * before)
            before = f
            out.append(x)
        return np.stack(out)

    return states


def two_step(rule):
    """x_{k+1} = rule(x_k, x_{k-1}, f_k, k) with x_{-1} = x_0."""

    def states(fields, x0, own):
        before = x = np.asarray(x0, np.float64)
        out = [x]
        for k, field in enumerate(fields):
            before, x = x, rule(x, before, field(x), k)
            out.append(x)
        return np.stack(out)

    return states


def heun(h=1.0):
    def states(fields, x0, own):
        x = np.asarray(x0, np.float64)
        out = [x]
        for field in fields:
            predicted = x + h * field(x)
            x = x + h / 2 * (field(x) + field(predicted))
            out.append(x)
        return np.stack(out)

    return states


def two_stage(own_weights):
    """x += g1 f1 + g2 f2; (g1, g2) from (f1, f2, k, own)."""

    def states(fields, x0, own):
        x = np.asarray(x0, np.float64)
        out = [x]
        for k, field in enumerate(fields):
            first = field(x)
            second = field(x + first)
            a, b = own_weights(first, second, k, own)
            x = x + a * first + b * second
            out.append(x)
        return np.stack(out)

    return states


def gate(first, second, k, own):
    read = np.concatenate([first, second], -1) @ own["gate"] + own["gate_bias"]
    g = sigmoid(read)[..., None]
    return g, 1 - g


def rk4(h=1.0):
    def states(fields, x0, own):
        x = np.asarray(x0, np.float64)
        out = [x]
        for f in fields:
            a = f(x)
            b = f(x + h / 2 * a)
            c = f(x + h / 2 * b)
            d = f(x + h * c)
            x = x + h / 6 * (a + 2 * b + 2 * c + d)
            out.append(x)
        return np.stack(out)

    return states


def riemannian(mu, h=1.0):
    """The velocity lives in the tangent space of where the stream is."""

    def states(fields, x0, own):
        x = np.asarray(x0, np.float64)
        r = x.shape[-1] ** 0.5
        x = retract(x, r)
        v, out = np.zeros_like(x), [x]
        for k, field in enumerate(fields):
            v = mu * v + (1 - mu) * tangent(x, field(x))
            x = retract(x + h * own["alpha"][k] * v, r)
            v = tangent(x, v)
            out.append(x)
        return np.stack(out)

    return states


def ngpt(fields, x0, own):
    """h = norm(h + alpha (norm(f) - h)), on a sphere of radius sqrt(width)."""
    x = np.asarray(x0, np.float64)
    r = x.shape[-1] ** 0.5
    x = retract(x, r)
    out = [x]
    for k, field in enumerate(fields):
        x = retract(x + own["alpha"][k] * (retract(field(x), r) - x), r)
        out.append(x)
    return np.stack(out)


def staggered(fields, x0, own):
    """Each field reads one of two streams and writes the other; the path is that of their mean."""
    p = q = np.asarray(x0, np.float64)
    out = [p]
    for k, field in enumerate(fields):
        if k % 2 == 0:
            q = q + field(p)
        else:
            p = p + field(q)
        out.append((p + q) / 2)
    return np.stack(out)


def drawn(k):
    """The numbers that midpoint-a drew; what is checked is what it does with them."""
    import velocity_ledger as vl
    from velocity_ledger.integrators.coefficient import Drawn

    return float(Drawn().value("mu", None, vl.Context(k)))


SIGMOIDS = (squashed(sigmoid, "mu"), squashed(sigmoid, "beta"), squashed(softplus, "gamma"))

STATES = {
    "plain": euler(),
    "ledger": heavy_ball(0.9),
    "ngpt-lite": euler(alpha=True, radius=0),
    "ngpt-ledger": heavy_ball(0.9, alpha=True, radius=0),
    "damped-euler": euler(lambda k, n, own: 1 - 0.9 ** (n - k)),
    "rezero": euler(lambda k, n, own: own["h"][k]),
    "layer-scale": euler(alpha=True),
    "learned-ledger": heavy_ball(lambda k, n, own: sigmoid(own["mu"][k])),
    "nesterov": look_ahead(0.9, 0.9, 0.1),
    "yuriiformer": look_ahead(*SIGMOIDS, norm="overwrite"),
    "hbformer": look_ahead(0.0, *SIGMOIDS[1:], norm="overwrite"),
    "tmmformer": look_ahead(*SIGMOIDS, norm="overwrite", nu=squashed(softplus, "h")),
    "polyak-shear": look_ahead(0.0, *SIGMOIDS[1:], norm="read", nu=squashed(softplus, "h")),
    "adams-bashforth": adams_bashforth(),
    "leapfrog": two_step(lambda x, before, f, k: 2 * x - before + f),
    "midpoint": two_step(lambda x, before, f, k: before + f),
    "midpoint-a": two_step(lambda x, before, f, k: -drawn(k) * before + (1 + drawn(k)) * x + f),
    "bdia": euler(),  # evaluated, its random sign is 0
    "heun": heun(),
    "rk4": rk4(),
    "riemannian-ledger": riemannian(0.9),
    "ngpt-step": ngpt,
    "staggered": staggered,
    "split-ledger": heavy_ball(0.9),  # the fields here are of one kind
    "coasting-ledger": heavy_ball(0.9),  # the path is the ledger's, only the head reads further
    "ode-rk2": two_stage(lambda a, b, k, own: (own["first"][k], own["second"][k])),
    "gated-rk2": two_stage(gate),
    # On fields without layers a splitting has nothing to cut.
    "parallel": euler(),
    "strang": euler(),
    "macaron": euler(),
    "plain(h=0.46)": euler(0.46),
    "ledger(mu=0.5, h=0.5)": heavy_ball(0.5, 0.5),
    "ledger(damped=False)": heavy_ball(0.9, damped=False),
    "ledger(debias=True)": heavy_ball(0.9, debias=True),
    "ledger(mu=-0.5)": heavy_ball(-0.5),
    "ledger(mu=linear(0.2, 0.8))": heavy_ball(lambda k, n, own: 0.2 + 0.6 * k / (n - 1)),
    "ledger(mu=cosine(0.2, 0.8))": heavy_ball(
        lambda k, n, own: 0.8 - 0.3 * (1 + np.cos(np.pi * k / (n - 1)))
    ),
    "ledger(mu=table((0.1, 0.9, 0.5, -0.5, 0.7, 0.2)))": heavy_ball(
        lambda k, n, own: (0.1, 0.9, 0.5, -0.5, 0.7, 0.2)[k]
    ),
    "learned-ledger(per='model')": heavy_ball(lambda k, n, own: sigmoid(own["mu"])),
    "damped-euler(h=0.2, damped=False)": euler(lambda k, n, own: 2 * (1 - 0.9 ** (n - k))),
    "midpoint(start='bootstrap')": two_step(lambda x, b, f, k: b + f if k else x + 0.5 * f),
    "leapfrog(h=0.5, start='bootstrap')": two_step(
        lambda x, before, f, k: 2 * x - before + 0.25 * f if k else x + 0.5 * f
    ),
    "leapfrog(h=0.5)": two_step(lambda x, before, f, k: 2 * x - before + 0.25 * f),
    "midpoint(h=0.25)": two_step(lambda x, before, f, k: before + 0.5 * f),
    "heun(h=0.5)": heun(0.5),
    "rk4(h=0.5)": rk4(0.5),
    "ngpt-lite(alpha=0.05)": euler(alpha=True, radius=0),
    "ngpt-ledger(mu=0.5, radius=2.0)": heavy_ball(0.5, alpha=True, radius=2.0),
    "compose(heavy_ball(mu=0.3), sphere(), fixed(h=0.5))": heavy_ball(0.3, 0.5, radius=0),
}
