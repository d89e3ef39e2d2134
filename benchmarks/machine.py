"""What a run was measured on."""

import datetime
import hashlib
import os
import platform
from pathlib import Path
from typing import Any

_FLAGS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "bf16", "sve")
"""Those that decide how fast a product can be."""

_ABOUT = Path("/proc/cpuinfo")


def described() -> dict[str, Any]:
    """CPU, cores, memory, how busy it was, libraries, the commit, the time."""
    from velocity_ledger.experiment._environment import environment, source

    libraries = environment()
    kept = ("python", "jax", "jaxlib", "flax", "optax", "numpy")
    own = source()
    return {
        "cpu": cpu(),
        "cores": cores(),
        "memory_bytes": _memory(),
        "load": load(),
        "system": platform.platform(terse=True),
        **{name: libraries[name] for name in kept},
        "torch": None,
        "version": own["version"],
        "commit": own["commit"],
        "dirty": own["dirty"],
        "sources": _sources(own["sha256"]),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _sources(package: str) -> str:
    """A digest of all that decides the figures: the package and these programs."""
    digest = hashlib.sha256(package.encode())
    here = Path(__file__).resolve().parent
    for path in sorted(here.rglob("*.py")):
        digest.update(path.relative_to(here).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def corner() -> str:
    """The interpreter and JAX, as `python3.13-jax0.12`."""
    from importlib.metadata import version

    python = ".".join(platform.python_version_tuple()[:2])
    return f"python{python}-jax{'.'.join(version('jax').split('.')[:2])}"


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load() -> float | None:
    """Programs that were ready to work, the mean of the last minute."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def cpu() -> str:
    """The processor's name, with what it knows of."""
    try:
        lines = [line.partition(":") for line in _ABOUT.read_text().splitlines()]
    except OSError:
        lines = []
    about = {name.strip(): value.strip() for name, _, value in lines}
    name = about.get("model name") or platform.processor() or platform.machine()
    known = set(about.get("flags", about.get("Features", "")).split())
    flags = [flag for flag in _FLAGS if flag in known]
    return f"{name} ({', '.join(flags)})" if flags else name


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
