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


def ngpt(radius=None, own_alpha=False):
    """h = norm(h + alpha (norm(f) - h)), alpha = |raw .05 sqrt(width)| or raw."""

    def states(fields, x0, own):
        x = np.asarray(x0, np.float64)
        width = x.shape[-1]
        r = radius or width**0.5
        x = retract(x, r)
        raw = np.asarray(own["alpha"], np.float64)
        alpha = raw if own_alpha else np.abs(raw * 0.05 / (1 / width**0.5))
        out = [x]
        for k, field in enumerate(fields):
            x = retract(x + alpha[k] * (retract(field(x), r) - x), r)
            out.append(x)
        return np.stack(out)

    return states


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


def matrices(x, rows):
    return x.reshape(*x.shape[:-1], rows, -1)


def orthogonalised(m, rows):
    """Five quintic steps towards the nearest matrix of equal singular values, from the left."""
    y = matrices(m, rows)
    y = y / np.maximum(np.linalg.norm(y, axis=(-2, -1), keepdims=True), 1e-12)
    for _ in range(5):
        # The same polynomial with the Gram matrix of the rows.
        a = y @ np.swapaxes(y, -1, -2)
        y = 3.4445 * y + (-4.7750 * a + 2.0315 * a @ a) @ y
    return y.reshape(m.shape)


def root_by_eigenvalues(r):
    w, q = np.linalg.eigh(r + 1e-6 * np.eye(r.shape[-1]))
    return q @ (w[..., None] ** -0.5 * np.swapaxes(q, -1, -2))


def root_by_newton(r):
    eye = np.eye(r.shape[-1])
    r = r + 1e-6 * eye
    norm = np.linalg.norm(r, axis=(-2, -1), keepdims=True)
    x = np.broadcast_to(eye, r.shape)
    for _ in range(10):
        x = 1.5 * x - 0.5 * x @ x @ x @ (r / norm)
    return x / np.sqrt(norm)


def optimizer(precondition, memory, beta1=True, decay=False):
    """m = b1 m + (1 - b1) g; x = (1 - decay) x + gamma LN(precondition(m, g))."""

    def states(fields, x0, own):
        x = np.asarray(x0, np.float64)
        m, kept, out = np.zeros_like(x), memory(x), [x]
        for k, field in enumerate(fields):
            b = sigmoid(own["beta1"][k]) if beta1 else 0.0
            g = field(x)
            m = b * m + (1 - b) * g
            u, kept = precondition(m, g, kept, sigmoid(own["beta2"][k]) if "beta2" in own else 0)
            left = 1 - sigmoid(own["decay"][k]) if decay else 1.0
            x = left * x + softplus(own["gamma"][k]) * layer_norm(u, own["direction_norm"][k])
            out.append(x)
        return np.stack(out)

    return states


def root_mean_square(m, g, s, b):
    s = b * s + (1 - b) * g**2
    return m / (s**0.5 + 1e-8), s


def muon(rows):
    return lambda m, g, kept, b: (orthogonalised(m, rows), kept)


def shampoo(rows, root):
    def precondition(m, g, r, b):
        z = matrices(g, rows)
        r = b * r + (1 - b) * np.einsum("...ri,...rj->...ij", z, z)
        return (matrices(m, rows) @ root(r)).reshape(m.shape), r

    return precondition


def identities(side):
    return lambda x: np.broadcast_to(np.eye(side), (*x.shape[:-1], side, side))


def doubly_stochastic(logits):
    m = np.exp(logits)
    for _ in range(20):
        m = m / m.sum(-2, keepdims=True)
        m = m / m.sum(-1, keepdims=True)
    return m


def hyper(weights, n, h=1.0):
    """Streams [batch, n, width]: f reads one mixture of them; each is mixed anew and written to."""

    def states(fields, x0, own):
        x = np.asarray(x0, np.float64)
        streams = np.stack([x] * n, -2)
        out = [x]
        for k, field in enumerate(fields):
            read, write, mix = weights(streams, k, n, {name: v[k] for name, v in own.items()})
            f = field(sum(read[..., i, None] * streams[..., i, :] for i in range(n)))
            new = mix @ streams + h * write[..., :, None] * f[..., None, :]
            streams = new
            out.append(streams.mean(-2))
        return np.stack(out)

    return states


def static_weights(streams, k, n, own):
    turn = np.eye(n)[k % n]
    return turn + own["read"], 1 + own["write"], (np.eye(n) + own["mix"]).T


def dynamic_weights(streams, k, n, own):
    z = layer_norm(streams, 1.0)
    read, write, mix = static_weights(streams, k, n, own)
    more = own["mix_scale"] * np.tanh(z @ own["mix_map"])
    return (
        read + own["mix_scale"] * np.tanh(z @ own["read_map"]),
        write + own["write_scale"] * np.tanh(z @ own["write_map"]),
        mix + np.swapaxes(more, -1, -2),
    )


def manifold_weights(streams, k, n, own):
    z = streams.reshape(*streams.shape[:-2], -1)
    z = z / np.sqrt((z * z).mean(-1, keepdims=True))
    read, write, mix = (own[w] + own[f"{w}_scale"] * (z @ own[f"{w}_map"]).reshape(
        *z.shape[:-1], *own[w].shape) for w in ("read", "write", "mix"))  # fmt: skip
    turn = np.where(np.arange(n) == k % n, 8.0, -8.0)
    return sigmoid(read + turn), 2 * sigmoid(write), doubly_stochastic(mix + 8 * np.eye(n))


def dense(dilation=1, period=1, h=1.0):
    def states(fields, x0, own):
        y = np.asarray(x0, np.float64)
        xs, out, left = [y], [y], list(own["average"])
        for i, field in enumerate(fields, 1):
            xs.append(y + h * field(y))
            y = xs[-1]
            if i % period == 0:
                kept = xs[i % dilation :: dilation]
                y = np.sum([left.pop(0) * x for x in kept], axis=0)
            out.append(y)
        assert not left
        return np.stack(out)

    return states


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
    "ngpt-step": ngpt(),
    "staggered": staggered,
    "adamformer": optimizer(root_mean_square, np.ones_like),
    "adamwformer": optimizer(root_mean_square, np.ones_like, decay=True),
    "rmsformer": optimizer(root_mean_square, np.ones_like, beta1=False),
    "muonformer": optimizer(muon(2), np.zeros_like),
    "orthoformer": optimizer(muon(2), np.zeros_like, beta1=False),
    "soapformer": optimizer(shampoo(2, root_by_eigenvalues), identities(4)),
    "shampooformer": optimizer(shampoo(2, root_by_eigenvalues), identities(4), beta1=False),
    "hyper-connections": hyper(static_weights, 4),
    "dynamic-hyper-connections": hyper(dynamic_weights, 4),
    "manifold-hyper-connections": hyper(manifold_weights, 4),
    "denseformer": dense(),
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
    "ngpt-step(radius=1.0)": ngpt(1.0),
    "ngpt-step(absolute=False, rescaled=False)": ngpt(own_alpha=True),
    "ngpt-ledger(mu=0.5, radius=2.0)": heavy_ball(0.5, alpha=True, radius=2.0),
    "soapformer(root='newton')": optimizer(shampoo(2, root_by_newton), identities(4)),
    "hyper-connections(streams=3, h=0.5)": hyper(static_weights, 3, 0.5),
    "denseformer(dilation=2, period=3, h=0.5)": dense(2, 3, 0.5),
    "compose(heavy_ball(mu=0.3), sphere(), fixed(h=0.5))": heavy_ball(0.3, 0.5, radius=0),
}
