"""JAX imported and put to work, in a process of its own that may crash or hang.

Every stage is announced before it begins, in one line of JSON, so that the last line names the
stage that did not end.
"""

import json
from typing import Any


def say(**words: Any) -> None:
    """Print one line of JSON."""
    print(json.dumps(words), flush=True)


def main() -> None:
    """Import jax and flax, ask for the devices, and compile a small product."""
    stage = "importing jax"
    try:
        say(stage=stage)
        import jax
        import jax.numpy as jnp

        stage = "importing flax"
        say(stage=stage)
        import flax.nnx  # noqa: F401

        stage = "asking for devices"
        say(stage=stage)
        devices = jax.devices()
        kinds = [[device.platform, device.device_kind] for device in devices]
        say(devices=kinds, backend=jax.default_backend())

        stage = "computing a compiled product"
        say(stage=stage)
        # Integers this small are exact in every precision a product is computed in.
        rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
        product = jax.jit(lambda a: a @ a)(jnp.asarray(rows)).tolist()
        right = [
            [
                sum(a * b for a, b in zip(row, column, strict=True))
                for column in zip(*rows, strict=True)
            ]
            for row in rows
        ]
        if product != right:
            raise ArithmeticError(f"{product} instead of {right}")
        say(stage="done")
    except Exception as error:
        say(stage=stage, error=" ".join(f"{type(error).__name__}: {error}".split()))


if __name__ == "__main__":
    main()
