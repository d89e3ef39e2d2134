"""Tell two runs apart."""

import dataclasses as dc
import json as _json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from velocity_ledger.cli.verbs._settings import Flag
from velocity_ledger.cli.verbs._verb import Verb


@dc.dataclass(frozen=True, kw_only=True)
class CompareBundles(Verb):
    """Tell two runs apart, trained here or imported: settings, text, machine, cells and numbers.

    The exit status is 0 whether or not they differ; with `--check` it is 1 where anything that
    both know differs: numbers beyond tolerance, cells, settings or text.

    For example:
        velocity-ledger compare-bundles runs/paper runs/published
    """

    a: Annotated[Path, tyro.conf.Positional]
    """The first run's folder."""
    b: Annotated[Path, tyro.conf.Positional]
    """The second run's; differences are B minus A."""
    json: Flag = False
    """Strict JSON instead of text."""
    check: Flag = False
    """Exit with 1 where the runs differ."""

    def call(self, command: Sequence[str]) -> int:
        del command
        from velocity_ledger.exchange import compare_bundles, told
        from velocity_ledger.experiment import open_bundle

        found = compare_bundles(open_bundle(self.a), open_bundle(self.b))
        if self.json:
            print(_json.dumps(_strict(dc.asdict(found)), indent=2, allow_nan=False))
        else:
            print(told(found))
        return 1 if self.check and found.differ else 0


def _strict(value: Any) -> Any:
    """`value` with null for what is not finite."""
    if isinstance(value, dict):
        return {str(k): _strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
