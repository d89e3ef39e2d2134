"""What a run was made by and on: source, libraries, machine."""

import hashlib
import importlib.metadata
import os
import pathlib
import platform
import subprocess
import sys
from typing import Any

_PACKAGE = pathlib.Path(__file__).resolve().parents[1]
_LIBRARIES = (
    "jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy", "xarray", "h5netcdf",
    "safetensors",
)  # fmt: skip


def source() -> dict[str, Any]:
    """Return the package's version, digest and, from a checkout, commit and whether it is dirty."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    record: dict[str, Any] = {
        "version": _version("velocity-ledger"),
        "sha256": digest.hexdigest(),
        "commit": None,
        "dirty": None,
    }
    # An environment may lie inside somebody else's repository: only a tracked file counts.
    if _git("ls-files", "--error-unmatch", "errors.py") is not None:
        record["commit"] = _git("rev-parse", "HEAD")
        status = _git("status", "--porcelain", "--", ".")
        record["dirty"] = None if status is None else bool(status)
    return record


def environment() -> dict[str, Any]:
    """Return the versions of Python and the libraries, and the platform."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "cpu_count": os.cpu_count(),
        **{name: _version(name) for name in _LIBRARIES},
    }


def device(asked: str) -> dict[str, Any]:
    """Return what was asked for, JAX's backend and the devices it runs on."""
    import jax

    devices = jax.devices()
    return {
        "asked": asked,
        "backend": jax.default_backend(),
        "kind": devices[0].device_kind,
        "count": len(devices),
        "matmul_precision": jax.config.jax_default_matmul_precision,  # pyright: ignore[reportAttributeAccessIssue]
    }


def command(given: list[str]) -> list[str]:
    """Return the command line: the one given, or else this process's."""
    return given or [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *words], cwd=_PACKAGE, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
