"""Where a program that is traced now will run, as far as JAX tells."""

from typing import Any

import jax


def device() -> Any:
    """Return the device that `jax.default_device` names, else the first of the default backend."""
    chosen: Any = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    if chosen is None:
        return jax.devices()[0]
    return jax.devices(chosen)[0] if isinstance(chosen, str) else chosen


def platform() -> str:
    """Return its kind: "cpu", "gpu" or "tpu"."""
    return device().platform
