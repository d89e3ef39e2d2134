"""An import of jax or flax that failed, in one sentence."""

import importlib.metadata
import types
from collections.abc import Iterator

_KINDS = (ImportError, AttributeError, RuntimeError)
_SUSPECTS = ("jax", "jaxlib", "flax")
# They import jax too, and break when it moves.
_USERS = (*_SUSPECTS, "velocity_ledger", "optax", "orbax", "chex")


def misfit(error: BaseException) -> str | None:
    """Return what to tell of `error`, or None where it has another origin.

    An origin is an ImportError, AttributeError or RuntimeError raised while a module of jax, jaxlib
    or flax was being imported, or an ImportError that names such a module. Nothing is imported for
    the answer.
    """
    for link in _chain(error):
        if isinstance(link, _KINDS) and _while_importing(link):
            return _told(link)
    return None


def _told(error: Exception) -> str:
    # jax itself looks at jaxlib, and refuses with a RuntimeError.
    other = "jaxlib" if isinstance(error, RuntimeError) else "flax"
    versions = {name: _version(name) for name in ("jax", other)}
    missing = [name for name, version in versions.items() if version is None]
    both = " and ".join(
        f"{name} {version}" if version else f"{name} (not installed)"
        for name, version in versions.items()
    )
    reason = " ".join(str(error).split()).rstrip(".")
    does = "cannot be imported" if missing else "do not fit each other"
    return f"{both} {does} ({reason}): run velocity-ledger doctor"


def _while_importing(error: Exception) -> bool:
    frames = list(_frames(error.__traceback__))
    if any(frame.f_code.co_name == "<module>" and _root(frame) in _SUSPECTS for frame in frames):
        return True
    # A user's own file that misspells a name of jax is another matter.
    own = [frame for frame in frames if _root(frame) != "importlib"]
    if not isinstance(error, ImportError) or not own or _root(own[-1]) not in _USERS:
        return False
    return (error.name or "").partition(".")[0] in _SUSPECTS


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _frames(trace: types.TracebackType | None) -> Iterator[types.FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _root(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except (importlib.metadata.PackageNotFoundError, KeyError):
        return None
