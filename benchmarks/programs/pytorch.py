"""The same training in PyTorch, eager: fused attention, fused AdamW, autocast for bf16.

It runs in an environment that has PyTorch and NumPy alone.
"""

import math
from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
import torch.nn.functional as F  # pyright: ignore[reportMissingImports]
from torch import nn  # pyright: ignore[reportMissingImports]

from benchmarks import products, shape as sizes, text
from benchmarks.shape import Shape

_EPSILON = 1e-6  # Flax's, for the norms.


class Layer(nn.Module):
    """The fields of one layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads, self.rate = shape.heads, shape.dropout
        self.attention_norm = nn.LayerNorm(shape.width, eps=_EPSILON)
        self.qkv = nn.Linear(shape.width, 3 * shape.width)
        self.out = nn.Linear(shape.width, shape.width)
        self.mlp_norm = nn.LayerNorm(shape.width, eps=_EPSILON)
        self.up = nn.Linear(shape.width, shape.hidden)
        self.down = nn.Linear(shape.hidden, shape.width)

    def attend(self, x: Any) -> Any:
        batch, time, width = x.shape
        split = self.qkv(self.attention_norm(x)).view(batch, time, 3, self.heads, -1)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        rate = self.rate if self.training else 0.0
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=rate, is_causal=True)
        out = self.out(mixed.transpose(1, 2).reshape(batch, time, width))
        return F.dropout(out, self.rate, self.training)

    def transform(self, x: Any) -> Any:
        out = self.down(F.gelu(self.up(self.mlp_norm(x)), approximate="tanh"))
        return F.dropout(out, self.rate, self.training)


class Network(nn.Module):
    """The GPT, plain."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.rate = shape.dropout
        self.token = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Embedding(shape.context, shape.width)
        self.layers = nn.ModuleList([Layer(shape) for _ in range(shape.layers)])
        self.norm = nn.LayerNorm(shape.width, eps=_EPSILON)
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=False)
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=shape.width**-0.5)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=module.in_features**-0.5)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, tokens: Any) -> Any:
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1]))
        x = F.dropout(x, self.rate, self.training)
        for layer in self.layers:
            x = x + layer.attend(x)
            x = x + layer.transform(x)
        return self.head(self.norm(x))


class Training:
    """A step of the eager loop."""

    chunk = 1

    def __init__(self, shape: dict[str, Any], precision: str = "fp32") -> None:
        torch.manual_seed(0)
        self.shape, self.bf16 = Shape(**shape), precision == "bf16"
        self.model = Network(self.shape)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=sizes.PEAK, weight_decay=sizes.DECAY, fused=True
        )
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, _rate)
        self.ids, self.draw = text.ids(self.shape), np.random.default_rng(0)
        self.done, self.loss = 0, float("nan")

    def run(self) -> None:
        drawn = text.windows(self.ids, self.shape, self.draw).astype(np.int64)
        tokens = torch.from_numpy(drawn)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bf16):
            logits = self.model(tokens[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), sizes.CLIP)
        self.optimizer.step()
        self.schedule.step()
        self.loss = loss.item()
        self.done += 1

    def facts(self) -> dict[str, Any]:
        return {
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "tokens": self.shape.tokens,
            "steps": self.done,
            "loss": self.loss,
            "torch": torch.__version__,
        }


def _rate(step: int) -> float:
    """The published schedule as a share of its peak."""
    if step < sizes.WARMUP:
        return step / sizes.WARMUP
    done = (step - sizes.WARMUP) / (sizes.STEPS - sizes.WARMUP)
    last = sizes.FINAL / sizes.PEAK
    return last + (1 - last) * (1 + math.cos(math.pi * done)) / 2


class Products(products.Products):
    """PyTorch's lone products."""

    def __init__(self, shape: dict[str, Any], precision: str = "fp32") -> None:
        super().__init__(Shape(**shape))
        self.kind = torch.bfloat16 if precision == "bf16" else torch.float32

    def array(self, values: np.ndarray) -> Any:
        return torch.from_numpy(values).to(self.kind)

    def product(self, a: Any, b: Any) -> None:
        torch.matmul(a, b)
