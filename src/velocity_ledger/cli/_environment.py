"""What JAX and XLA read from the environment, set before JAX is imported."""

import os
from collections.abc import MutableMapping
from pathlib import Path

# JAX fails for a list of which one is not installed, as `cuda,rocm`; left to itself it takes an
# accelerator before the CPU, and a verb asks whether it is the right one.
_PLATFORMS = {"cpu": "cpu", "gpu": "", "tpu": ""}
_ACCELERATORS = ("/dev/nvidiactl", "/dev/kfd", "/dev/accel0", "/dev/vfio/0", "/dev/dxg")


def prepare(device: str, environment: MutableMapping[str, str] = os.environ) -> None:
    """Set what JAX reads when it is imported; a value that the user set is kept.

    `device` is `auto` or a key of the platforms above, and does override `JAX_PLATFORMS`: it was
    asked for by name.
    """
    if device != "auto":
        environment["JAX_PLATFORMS"] = _PLATFORMS[device]
    # A run needs little of a card: leave the rest to other processes.
    environment.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    # XLA's remarks at start-up are no news to the reader of a table.
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def computes_on_cpu(device: str) -> bool:
    """Whether JAX will compute on the CPU, told without importing it."""
    if device != "auto":
        return device == "cpu"
    platforms = os.environ.get("JAX_PLATFORMS", "")
    if platforms:
        return platforms == "cpu"
    return not any(Path(path).exists() for path in _ACCELERATORS)
