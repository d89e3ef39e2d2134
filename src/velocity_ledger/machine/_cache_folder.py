"""The one folder for what can be fetched or made again."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder that VELOCITY_LEDGER_CACHE names, or else the user's cache folder.

    It need not be there yet.
    """
    import platformdirs  # waits for a use: most commands keep nothing

    given = os.environ.get("VELOCITY_LEDGER_CACHE")
    return Path(given or platformdirs.user_cache_dir("velocity-ledger")).expanduser()
