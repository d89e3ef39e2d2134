"""What of a bundle has no place in the published layout, found by what was not written."""

import dataclasses as dc
import re
from collections.abc import Iterable, Mapping

import xarray as xr

from velocity_ledger.experiment import Bundle, CellRecord
from velocity_ledger.training import LEARNED

# What the JSON keeps of a cell's record; `wall_s` is the sum of the two times.
_CELL = {"variant", "slug", "seed", "step", "best_val", "best_step"}
_SUMMED = {"compile_s", "train_s"}
_MANIFEST = {"format", "schema_version", "configuration", "corpus", "vocabulary", "variants",
             "cells", "updated"}  # fmt: skip
_VARIANT = {"text", "slug", "parameters"}
_SAMPLE = {"prompt", "text"}
_FILES = {"manifest.json", "data.nc", "sample.json", ".lock"}
# Drawn or written again from the bundle, so not lost.
_DERIVED = {"figures", "origin"}


@dc.dataclass
class Fate:
    """What became of the variables of one cell's dataset."""

    data: xr.Dataset
    whole: set[str] = dc.field(default_factory=set)
    averaged: set[str] = dc.field(default_factory=set)
    repeated: set[str] = dc.field(default_factory=set)
    """Not written, since another array holds the same numbers."""

    def written(self, values: xr.DataArray) -> None:
        """Note that a variable was written, as a mean where it has tokens."""
        (self.averaged if "token" in values.dims else self.whole).add(str(values.name))

    @property
    def missing(self) -> set[str]:
        """Variables of which nothing was written."""
        names = {str(name) for name in self.data.data_vars}
        return names - self.whole - self.averaged - self.repeated


def lost(bundle: Bundle, fates: Mapping[str, Fate]) -> list[str]:
    """One sentence a kind of loss, from what was written of each cell; none where all was."""
    found = []
    averaged = _union(fate.averaged for fate in fates.values())
    if averaged:
        tokens = sorted({fate.data.sizes["token"] for fate in fates.values() if fate.averaged})
        counts = " or ".join(f"{n:,}" for n in tokens)
        found.append(f"of {counts} values a token only the mean is written: {_listed(averaged)}")
    missing = _union(fate.missing for fate in fates.values())
    nulls = {name for name in missing if name.startswith("null_")}
    learned = {name for name in missing if name.startswith(LEARNED)}
    if missing - nulls - learned:
        found.append(f"measured, not written: {_listed(missing - nulls - learned)}")
    if nulls:
        found.append(f"null models: {_listed(n.removeprefix('null_') for n in nulls)}")
    if learned:
        found.append(
            f"learned by the integrators: {_listed(n.removeprefix(LEARNED) for n in learned)}"
        )
    repeated = {name for name, fate in fates.items() if fate.repeated}
    if repeated:
        variants = dict.fromkeys(name.rpartition("/")[0] for name in fates if name in repeated)
        found.append(f"rawstep of {', '.join(variants)}, which is seglen but for rounding")
    fields = [
        f.name
        for f in dc.fields(CellRecord)
        if f.name not in _CELL | _SUMMED and _any(getattr(c, f.name) for c in bundle.cells)
    ]
    if fields:
        found.append(f"of each cell: {', '.join(fields)}")
    if any(c.compile_s is not None and c.train_s is not None for c in bundle.cells):
        found.append("compile_s and train_s, of which wall_s is the sum")
    gone = [c.name for c in bundle.cells if c.best_val is None and c.name not in fates]
    if gone:
        found.append(f"cells of which nothing is measured: {', '.join(gone)}")
    about = {k for v in bundle.variants for k, value in v.items() if value is not None} - _VARIANT
    if about:
        found.append(f"of each variant: {_listed(about)}")
    extra = {k for s in getattr(bundle, "samples", {}).values() for k in s} - _SAMPLE
    if extra:
        found.append(f"of each sample: {_listed(extra)}, and where the prompt ends")
    elif getattr(bundle, "samples", {}):
        found.append("of each sample: where the prompt ends")
    rest = {k for k, value in bundle.manifest.items() if value is not None} - _MANIFEST
    if rest:
        found.append(f"of the manifest: {_listed(rest)}")
    if bundle.config is not None and bundle.config.sweep.rates:
        found.append("the sweep of learning rates")
    files = _files(bundle)
    if files:
        found.append(f"files: {_listed(files)}")
    return found


def _files(bundle: Bundle) -> set[str]:
    """Kinds of files that only the bundle has; numbers in their names are left out."""
    kinds = set()
    for path in bundle.path.rglob("*"):
        parts = list(path.relative_to(bundle.path).parts)
        if not path.is_file() or path.name in _FILES or parts[0] in _DERIVED:
            continue
        # Cells by what lies in them, the rest by its folder.
        name = parts[3] if parts[0] == "cells" and len(parts) > 3 else parts[0]
        kinds.add(re.sub(r"[0-9]{3,}", "*", name))
    return kinds


def _union(sets: Iterable[set[str]]) -> set[str]:
    return set[str]().union(*sets)


def _any(values: Iterable[object]) -> bool:
    return any(value is not None for value in values)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
