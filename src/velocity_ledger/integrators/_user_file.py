"""Integrators that live in a user's own file."""

import hashlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from velocity_ledger.errors import UserError
from velocity_ledger.integrators._contract import Integrator

_written: dict[str, str] = {}  # module name -> the path as the user wrote it


def load(path: str, name: str) -> Any:
    """Return the object `name` of a Python file; the same file gives the same object."""
    module = _module(path)
    if not hasattr(module, name):
        there = [
            k
            for k, v in vars(module).items()
            if inspect.isclass(v) and issubclass(v, Integrator) and v.__module__ == module.__name__
        ]
        hint = f"; it defines {', '.join(there)}" if there else ""
        raise UserError(f"{path} has no integrator named {name}{hint}")
    return getattr(module, name)


def written_path(module_name: str) -> str | None:
    """Return the path under which a user's module was named, or None for any other module."""
    return _written.get(module_name)


def source_of(integrator: Integrator) -> Path | None:
    """Return the file of the user's own that an integrator comes from, or None for ours."""
    origin = getattr(integrator, "_origin", None)
    module = type(integrator).__module__
    written = origin[0] if origin else _written.get(module)
    if written is not None:
        return Path(written).resolve()
    if module.split(".")[0] == "velocity_ledger":
        return None
    try:
        return Path(inspect.getfile(type(integrator))).resolve()
    except (OSError, TypeError):  # defined at a prompt
        return None


def _module(path: str) -> ModuleType:
    try:
        file = Path(path).expanduser()
        source = file.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except (RuntimeError, ValueError) as error:  # no such user; no such characters in a path
        raise UserError(f"cannot read {path}: {error}") from None
    # Named by place and content: an edited file is another module, an unedited one the same.
    digest = hashlib.sha256(str(file.resolve()).encode() + b"\0" + source).hexdigest()[:16]
    name = f"velocity_ledger_user_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UserError(f"{path} does not run: {type(error).__name__}: {error}") from error
    _written[name] = path
    return module
