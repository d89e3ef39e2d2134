"""Run in PyTorch's environment: its losses from given weights.

python pytorch_peer.py weights.npz steps '{"width": 8}'
"""

import json
import sys

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

from benchmarks import shape as sizes, text

sizes.WARMUP, sizes.PEAK = 1, 0.05


def main(path: str, steps: str, shape: str) -> None:
    from benchmarks.programs import pytorch

    given = dict(np.load(path))
    only = given.pop("only")
    text.ids = lambda shape: only
    training = pytorch.Training(json.loads(shape))
    network = training.model

    def put(own, *names, turned=False):
        parts = [given.pop(name) for name in names]
        value = np.concatenate([part.T if turned else part for part in parts])
        own.data.copy_(torch.from_numpy(np.ascontiguousarray(value)))

    def linear(module, *names):
        put(module.weight, *(f"{name}.kernel" for name in names), turned=True)
        if module.bias is not None:
            put(module.bias, *(f"{name}.bias" for name in names))

    def norm(module, name):
        put(module.weight, f"{name}.scale")
        put(module.bias, f"{name}.bias")

    put(network.token.weight, "token.embedding")
    put(network.position.weight, "position.embedding")
    norm(network.norm, "norm")
    linear(network.head, "head")
    for i, layer in enumerate(network.layers):
        norm(layer.attention_norm, f"blocks.{i}.attention.norm")
        linear(layer.qkv, *(f"blocks.{i}.attention.{p}" for p in ("query", "key", "value")))
        linear(layer.out, f"blocks.{i}.attention.out")
        norm(layer.mlp_norm, f"blocks.{i}.mlp.norm")
        linear(layer.up, f"blocks.{i}.mlp.up")
        linear(layer.down, f"blocks.{i}.mlp.down")
    assert not given, sorted(given)
    losses = []
    for _ in range(int(steps)):
        training.run()
        losses.append(training.loss)
    print(json.dumps(losses))


if __name__ == "__main__":
    main(*sys.argv[1:])
