"""What files in the published layout say, sorted by cell; the rest is kept with its name."""

import dataclasses as dc
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from velocity_ledger import integrators
from velocity_ledger.errors import UserError
from velocity_ledger.exchange._fields import Said, read_config
from velocity_ledger.exchange._files import Source, whole
from velocity_ledger.exchange._layout import (
    CELL,
    CURVES,
    DEPTH,
    DEPTH_ARRAY,
    PUBLISHED,
    RUN_KEYS,
    canonical,
)

Key = tuple[str, int]
"""Text form of a variant, and a seed."""


@dc.dataclass
class Cell:
    """What is said of one cell."""

    curves: dict[str, np.ndarray] = dc.field(default_factory=dict)
    depth: dict[tuple[int, str], np.ndarray] = dc.field(default_factory=dict)
    """By index of the checkpoint and suffix of the array."""
    run: dict[str, Any] = dc.field(default_factory=dict)
    """Entries of the JSON that are understood."""


@dc.dataclass
class Collected:
    """All that files say."""

    said: Said
    cells: dict[Key, Cell] = dc.field(default_factory=dict)
    spelled: dict[str, str] = dc.field(default_factory=dict)
    """Text form to the spelling of the files."""
    comparison: dict[str, Any] = dc.field(default_factory=dict)
    """By text form."""
    checkpoints: np.ndarray | None = None
    notes: list[str] = dc.field(default_factory=list)
    """How what is ambiguous was taken."""
    contradictions: list[str] = dc.field(default_factory=list)
    strange_arrays: list[dict[str, Any]] = dc.field(default_factory=list)
    strange_json: dict[str, Any] = dc.field(default_factory=dict)
    _texts: dict[str, str] = dc.field(default_factory=dict)
    """By spelling; the configuration, on which they depend, is read before any is asked for."""

    def cell(self, spelled: str, seed: int) -> Cell:
        """The cell of a spelling and a seed."""
        text = self.text(spelled)
        self.spelled.setdefault(text, spelled)
        return self.cells.setdefault((text, seed), Cell())

    def text(self, spelled: str) -> str:
        """The text form that a spelling stands for."""
        if spelled not in self._texts:
            self._texts[spelled] = self._text(spelled)
        return self._texts[spelled]

    def _text(self, spelled: str) -> str:
        named = self.said.fields.get("variants", {}).get(spelled)
        if named:
            return named
        base = canonical(spelled)
        if base not in PUBLISHED.values():
            return base
        own = self.said.part("integrator")
        # The article's step scale h multiplies the velocity alone.
        given = own if base.endswith("ledger") else {}
        words = ", ".join(f"{name}={value!r}" for name, value in given.items())
        try:
            return integrators.text(integrators.parse(f"{base}({words})"))
        except UserError as error:
            self.note(f"{spelled} is taken as {base}, without {words} ({error})")
            return base

    def note(self, text: str) -> None:
        """Note once how something was taken."""
        if text not in self.notes:
            self.notes.append(text)

    def strange(self, name: str, array: np.ndarray, why: str) -> None:
        """Note an array that is not understood."""
        if any(known["name"] == name for known in self.strange_arrays):
            return
        record = {"name": name, "shape": list(array.shape), "dtype": str(array.dtype), "why": why}
        if array.size <= 16 and array.dtype.kind in "biufU":
            record["values"] = array.tolist()
        self.strange_arrays.append(record)


def collect(sources: Sequence[Source]) -> Collected:
    """Sort what the files say; where two say different things of one array, the first counts."""
    records = [s.record for s in sources if s.arrays is None]
    found = Collected(Said())
    for source in sources:
        if source.arrays is None and not isinstance(source.record, Mapping):
            raise UserError(f"{source.path} is JSON, but no object with config, comparison or runs")
    # The configuration first: it says what spellings mean.
    for record in records:
        said = read_config(record.get("config"))
        for field, value in said.fields.items():
            found.said.add(field, value, field)
        found.said.rest |= said.rest
        found.said.conflicts += said.conflicts
    for record in records:
        _read_record(record, found)
    for source in sources:
        for name, array in (source.arrays or {}).items():
            _read_array(name, array, found)
        for name in source.others:
            found.strange(name, np.zeros(0), "no array")
    if found.said.rest:
        found.strange_json["config"] = found.said.rest
    found.contradictions += found.said.conflicts
    return found


def _read_record(record: Mapping[str, Any], found: Collected) -> None:
    for key, value in record.items():
        if key == "config":
            continue
        if key == "comparison" and isinstance(value, Mapping):
            found.comparison |= {found.text(str(name)): about for name, about in value.items()}
            continue
        runs = list(_runs({key: value} if CELL.match(key) else value)) if key != "config" else []
        if key == "runs" or CELL.match(key):
            for spelled, seed, run in runs:
                _read_run(spelled, seed, run, found)
            if runs:
                continue
        found.strange_json[key] = value


def _runs(value: Any) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Runs by `{variant}_s{seed}`, by variant and then seed, or in a list that names both."""
    if isinstance(value, list):
        for run in value:
            if isinstance(run, Mapping) and isinstance(run.get("variant"), str):
                seed = whole(run.get("seed"))
                if seed is not None and seed >= 0:
                    yield run["variant"], seed, run
    elif isinstance(value, Mapping):
        for key, run in value.items():
            match = CELL.match(str(key))
            if match and isinstance(run, Mapping):
                yield match["variant"], int(match["seed"]), run
            elif isinstance(run, Mapping):
                for seed, inner in run.items():
                    number = whole(str(seed).removeprefix("s"))
                    if number is not None and number >= 0 and isinstance(inner, Mapping):
                        yield str(key), number, inner


def _read_run(spelled: str, seed: int, run: Mapping[str, Any], found: Collected) -> None:
    cell = found.cell(spelled, seed)
    rest: dict[str, Any] = {}
    for key, value in run.items():
        if key in ("variant", "seed"):
            continue
        if key in RUN_KEYS:
            cell.run.setdefault(key, value)
        elif key in CURVES and isinstance(value, list):
            _keep(cell.curves, key, _numbers(np.asarray(value, object)), f"{spelled}_s{seed}/{key}",
                  found)  # fmt: skip
        else:
            rest[str(key)] = value
    if rest:
        found.strange_json.setdefault("runs", {}).setdefault(f"{spelled}_s{seed}", {}).update(rest)


def _read_array(name: str, array: np.ndarray, found: Collected) -> None:
    values = _numbers(array)
    if values is None:
        found.strange(name, array, "no list of numbers")
        return
    if name == "ckpt_steps":
        if found.checkpoints is not None and not np.array_equal(found.checkpoints, values):
            found.contradictions.append("two files have other ckpt_steps: the first ones count")
        elif found.checkpoints is None:
            found.checkpoints = values
        return
    place, slash, what = name.rpartition("/")
    match, deep = CELL.match(place), DEPTH_ARRAY.match(what)
    if slash and match and what in CURVES:
        cell = found.cell(match["variant"], int(match["seed"]))
        _keep(cell.curves, what, values, name, found)
    elif slash and match and deep and deep["what"] in DEPTH:
        cell = found.cell(match["variant"], int(match["seed"]))
        _keep(cell.depth, (int(deep["index"]), deep["what"]), values, name, found)
    else:
        found.strange(name, array, "a name that the layout does not have")


def _numbers(array: np.ndarray) -> np.ndarray | None:
    """An array of at most one true dimension, in float64; None where it is no such."""
    if array.dtype == object:
        try:
            array = np.asarray([np.nan if v is None else v for v in array.tolist()], np.float64)
        except (TypeError, ValueError, OverflowError):
            return None
    if array.dtype.kind not in "biuf":
        return None
    flat = np.atleast_1d(np.squeeze(array))
    return flat.astype(np.float64) if flat.ndim == 1 else None


def _keep(
    where: dict[Any, np.ndarray], key: Any, values: np.ndarray | None, name: str, found: Collected
) -> None:
    if values is None:
        found.strange(name, np.zeros(0), "no list of numbers")
    elif key not in where:
        where[key] = values
    elif where[key].shape != values.shape or not np.allclose(
        where[key], values, rtol=1e-6, atol=0.0, equal_nan=True
    ):
        found.contradictions.append(f"{name} is given twice, and differs: the first counts")
