"""The same training written as the article does: a jitted step over Flax's own modules.

`nnx.MultiHeadAttention`, `nnx.Dropout`, `nnx.Optimizer`; windows drawn on the host, the loss read
after every step.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from benchmarks import shape as sizes, text
from benchmarks.shape import Shape


class Layer(nnx.Module):
    """The fields of one layer: attention and MLP, each after its norm and before its dropout."""

    def __init__(self, shape: Shape, rngs: nnx.Rngs) -> None:
        self.attention_norm = nnx.LayerNorm(shape.width, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(
            num_heads=shape.heads,
            in_features=shape.width,
            dropout_rate=shape.dropout,
            deterministic=False,
            decode=False,
            rngs=rngs,
        )
        self.attention_dropout = nnx.Dropout(shape.dropout, rngs=rngs)
        self.mlp_norm = nnx.LayerNorm(shape.width, rngs=rngs)
        self.up = nnx.Linear(shape.width, shape.hidden, rngs=rngs)
        self.down = nnx.Linear(shape.hidden, shape.width, rngs=rngs)
        self.mlp_dropout = nnx.Dropout(shape.dropout, rngs=rngs)

    def attend(self, x: jax.Array, mask: jax.Array) -> jax.Array:
        return self.attention_dropout(self.attention(self.attention_norm(x), mask=mask))

    def transform(self, x: jax.Array) -> jax.Array:
        return self.mlp_dropout(self.down(nnx.gelu(self.up(self.mlp_norm(x)))))


class Network(nnx.Module):
    """The GPT; with `mu` its stream has a velocity, without it is moved by every push whole."""

    def __init__(self, shape: Shape, mu: float | None, rngs: nnx.Rngs) -> None:
        self.mu = mu
        start = nnx.initializers.normal(shape.width**-0.5)
        self.token = nnx.Embed(shape.vocabulary, shape.width, embedding_init=start, rngs=rngs)
        self.position = nnx.Embed(shape.context, shape.width, embedding_init=start, rngs=rngs)
        self.dropout = nnx.Dropout(shape.dropout, rngs=rngs)
        self.layers = nnx.List([Layer(shape, rngs) for _ in range(shape.layers)])
        self.norm = nnx.LayerNorm(shape.width, rngs=rngs)
        self.head = nnx.Linear(shape.width, shape.vocabulary, use_bias=False, rngs=rngs)

    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = self.dropout(self.token(tokens) + self.position(jnp.arange(tokens.shape[1])))
        mask = nnx.make_causal_mask(tokens)
        v = jnp.zeros_like(x)
        for layer in self.layers:
            x, v = self.moved(x, v, layer.attend(x, mask))
            x, v = self.moved(x, v, layer.transform(x))
        return self.head(self.norm(x))

    def moved(self, x: jax.Array, v: jax.Array, push: jax.Array) -> tuple[jax.Array, jax.Array]:
        if self.mu is None:
            return x + push, v
        v = self.mu * v + (1 - self.mu) * push
        return x + v, v


@nnx.jit
def train_step(
    model: Network, optimizer: nnx.Optimizer, inputs: jax.Array, targets: jax.Array
) -> jax.Array:
    def objective(model: Network) -> jax.Array:
        losses = optax.softmax_cross_entropy_with_integer_labels(model(inputs), targets)
        return losses.mean()

    loss, gradient = nnx.value_and_grad(objective)(model)
    optimizer.update(model, gradient)
    return loss


class Training:
    """A step of the article's way."""

    chunk = 1

    def __init__(self, shape: dict[str, Any], mu: float | None = None) -> None:
        self.shape = Shape(**shape)
        rate = optax.warmup_cosine_decay_schedule(
            0.0, sizes.PEAK, sizes.WARMUP, sizes.STEPS, sizes.FINAL
        )
        self.model = Network(self.shape, mu, nnx.Rngs(0))
        self.optimizer = nnx.Optimizer(
            self.model,
            optax.chain(
                optax.clip_by_global_norm(sizes.CLIP),
                optax.adamw(rate, weight_decay=sizes.DECAY),
            ),
            wrt=nnx.Param,
        )
        self.ids, self.draw = text.ids(self.shape), np.random.default_rng(0)
        self.done, self.loss = 0, float("nan")

    def run(self) -> None:
        tokens = text.windows(self.ids, self.shape, self.draw)
        inputs, targets = jnp.asarray(tokens[:, :-1]), jnp.asarray(tokens[:, 1:])
        self.loss = float(train_step(self.model, self.optimizer, inputs, targets))
        self.done += 1

    def facts(self) -> dict[str, Any]:
        leaves = jax.tree.leaves(nnx.state(self.model, nnx.Param))
        return {
            "parameters": sum(leaf.size for leaf in leaves),
            "tokens": self.shape.tokens,
            "steps": self.done,
            "loss": self.loss,
            "device": jax.devices()[0].device_kind,
        }


@nnx.jit
def next_logits(model: Network, window: jax.Array, place: jax.Array) -> jax.Array:
    return model(window)[0, place]


class Sampling:
    """New tokens after one token, until the context is full: for each a call, and a draw here."""

    chunk = 1

    def __init__(self, shape: dict[str, Any], mu: float | None = None) -> None:
        self.shape = Shape(**shape)
        self.model = Network(self.shape, mu, nnx.Rngs(0))
        self.model.eval()
        self.first = text.ids(self.shape)[0]

    def run(self) -> None:
        draw = np.random.default_rng(0)
        window = np.zeros((1, self.shape.context), np.int32)
        window[0, 0] = self.first
        for place in range(self.shape.context - 1):
            logits = next_logits(self.model, jnp.asarray(window), jnp.asarray(place))
            odds = np.exp(np.asarray(logits, np.float64))
            window[0, place + 1] = draw.choice(len(odds), p=odds / odds.sum())

    def facts(self) -> dict[str, Any]:
        return {"tokens": self.shape.context - 1, "device": jax.devices()[0].device_kind}
