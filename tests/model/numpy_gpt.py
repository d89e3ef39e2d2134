"""The GPT of any block settings in NumPy float64, written from the equations and nothing else."""

from typing import Any

import numpy as np


def silu(z):
    return z / (1 + np.exp(-z))


def gelu(z):
    return 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


def unit(z):
    return z / np.sqrt((z * z).sum(-1, keepdims=True))


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rotate_one(vector, position):
    """A vector turned pair by pair, as complex numbers: (i, i + half) is one."""
    half = len(vector) // 2
    pairs = vector[:half] + 1j * vector[half:]
    turned = pairs * np.exp(1j * position * 10_000.0 ** (-np.arange(half) / half))
    return np.concatenate([turned.real, turned.imag])


class Numpy:
    """Logits of one sequence from exported weights; loops over heads and positions."""

    def __init__(self, weights, config):
        self.w = {name: np.asarray(value, np.float64) for name, value in weights.items()}
        self.c = config

    def linear(self, name, x):
        return x @ self.w[f"{name}.kernel"] + self.w.get(f"{name}.bias", 0.0)

    def norm(self, name, x):
        gain, bias = self.w[f"{name}.scale"], self.w.get(f"{name}.bias", 0.0)
        if self.c.norm == "layer":
            x = x - x.mean(-1, keepdims=True)
        return gain * x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) + bias

    def read(self, layer, field, x):
        name = f"blocks.{layer}.{field}.norm"
        if f"{name}.scale" not in self.w:
            return x
        return self.norm(name, x) / (np.sqrt(layer + 1) if self.c.norm_scaling else 1)

    def attention(self, layer, x, values):
        c, name = self.c, f"blocks.{layer}.attention"
        y = self.read(layer, "attention", x)
        q, k, v = (self.linear(f"{name}.{part}", y) for part in ("query", "key", "value"))
        values.append(v)
        if c.value_residual:
            v = (values[0] + v) / 2
        size, mixed = c.width // c.heads, []
        shared = c.heads // (c.kv_heads or c.heads)
        for h in range(c.heads):
            g = h // shared
            one = q[:, h * size : (h + 1) * size]
            other = k[:, g * size : (g + 1) * size]
            if c.positions == "rope":
                one, other = (
                    np.stack([rotate_one(z, t) for t, z in enumerate(zs)]) for zs in (one, other)
                )
            scale = size**-0.5
            if c.qk_norm:
                s = self.w[f"{name}.qk_scale.value"][h] / (1 / np.sqrt(c.width))
                one, other, scale = s * unit(one), s * unit(other), size**0.5
            for t in range(len(x)):
                weights = softmax(scale * other[: t + 1] @ one[t])
                mixed.append(weights @ v[: t + 1, g * size : (g + 1) * size])
        out = np.stack(mixed).reshape(c.heads, len(x), size).swapaxes(0, 1).reshape(len(x), -1)
        return self.linear(f"{name}.out", out)

    def mlp(self, layer, x, field="mlp"):
        c, name = self.c, f"blocks.{layer}.{field}"
        y = self.read(layer, field, x)
        parts = [self.linear(f"{name}.up", y)]
        if c.activation == "swiglu":
            parts.append(self.linear(f"{name}.gate", y))
        if c.hidden_scale:
            scales = ("up_scale", "gate_scale")
            parts = [
                p * self.w[f"{name}.{s}.value"] * np.sqrt(c.width)
                for p, s in zip(parts, scales, strict=False)
            ]
        hidden = parts[0] * silu(parts[1]) if len(parts) == 2 else gelu(parts[0])
        return self.linear(f"{name}.down", hidden)

    def embedding(self, tokens):
        x = self.w["token.embedding"][tokens]
        if self.c.positions == "learned":
            x = x + self.w["position.embedding"][: len(tokens)]
        return x

    def logits(self, x):
        y = self.norm("norm", x) if self.c.final_norm else x
        head = self.w["token.embedding"].T if self.c.tied else self.w["head.kernel"]
        z = y @ head
        if self.c.logit_scale:
            z = z * self.w["logit_scale.value"] / (1 / np.sqrt(self.c.width))
        return z

    def plain(self, tokens):
        """x += a(x); x += m(x)."""
        values: list[Any] = []
        x = self.embedding(tokens)
        for layer in range(self.c.layers):
            x = x + self.attention(layer, x, values)
            x = x + self.mlp(layer, x)
        return self.logits(x)

    def ngpt(self, tokens):
        """h = Norm(h + |alpha| (Norm(f(h)) - h)), the embedding's rows unit as they are."""
        values: list[Any] = []
        h = self.embedding(tokens)
        for layer in range(self.c.layers):
            for kind in ("attention", "mlp"):
                f = self.mlp(layer, h) if kind == "mlp" else self.attention(layer, h, values)
                raw = self.w[f"blocks.{layer}.integrator.{kind}.alpha"]
                alpha = np.abs(raw * 0.05 / (1 / np.sqrt(self.c.width)))
                h = unit(h + alpha * (unit(f) - h))
        return self.logits(h)
