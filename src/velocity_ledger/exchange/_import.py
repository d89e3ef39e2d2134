"""A bundle made of files in the published layout, made by whomever."""

import dataclasses as dc
import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from velocity_ledger.errors import UserError
from velocity_ledger.exchange._collect import Cell, Collected, Key, collect
from velocity_ledger.exchange._fields import RUN_FIELDS
from velocity_ledger.exchange._files import Source, number, read_sources, whole
from velocity_ledger.exchange._layout import PUBLISHED
from velocity_ledger.exchange._measured import checkpoint_steps, dataset, turns_in_radians
from velocity_ledger.experiment import CellRecord, check_new, write_imported

FORMAT = "published"
_TOLERANCE = 1e-4
"""Nats by which a loss of the JSON may differ from its curve, where both are rounded."""
_MEANS = ("best_val_mean", "best_val_loss_mean", "mean_best_val", "best_mean", "best_val",
          "best_val_loss")  # fmt: skip


@dc.dataclass(frozen=True)
class Imported:
    """What an import found, and what it could not make sense of."""

    path: pathlib.Path
    cells: int
    arrays: int
    """Arrays read, whether understood or not."""
    notes: list[str]
    """How what is ambiguous was taken."""
    contradictions: list[str]
    not_understood: list[str]
    absent: list[str]
    """What a bundle of ours holds, and this one does not."""


def import_published(
    files: Sequence[pathlib.Path], out: pathlib.Path, command: Sequence[str] = ()
) -> Imported:
    """Make the bundle `out` of files in the published layout: npz, JSON or both, in any order.

    What the files say is taken as it is, in the names of the article: losses in nats a
    token, lengths in units of the residual stream, angles in degrees, or in radians where none
    exceeds pi. Any array may be absent; `xnorm` may lack |x_0|, and `turn` have an entry more or
    less. Path length is the sum of `seglen`, turning angle the mean of `turn`. What cannot be
    known from means is absent: chord, straightness, values a token, null models. The files
    themselves are kept in the bundle, and what was not understood is in the manifest's `origin`.

    Raises `UserError` where `out` exists, for files that are neither npz nor JSON, are damaged,
    too large or hold pickled objects, and where they hold no run.
    """
    check_new(out)
    sources = read_sources(files)
    found = collect(sources)
    if not found.cells:
        raise UserError(
            f"{', '.join(s.path.name for s in sources)}: no array or run is named "
            "VARIANT_sSEED, so there is nothing to import"
        )
    _put_in_order(found)
    radians, steps = turns_in_radians(found), checkpoint_steps(found)
    datasets: dict[Key, xr.Dataset] = {}
    for key, cell in found.cells.items():
        data = dataset(key, cell, steps, radians, found)
        if data is not None:
            datasets[key] = data
    ends = _ends(found, datasets)
    records = [_record(key, cell, datasets.get(key), ends, found)
               for key, cell in found.cells.items()]  # fmt: skip
    _check_means(found, records)
    samples = {k: s for k, cell in found.cells.items() if (s := _sample(k, cell, found))}
    names = _copies(sources)
    write_imported(
        out,
        origin=_origin(sources, names, found),
        configuration=_configuration(found),
        corpus=_corpus(found),
        vocabulary=_vocabulary(found),
        variants={text: _parameters(text, found) for text, _ in found.cells},
        cells=records,
        datasets=datasets,
        samples=samples,
        originals=dict(zip(names, files, strict=True)),
        command=command,
    )
    return Imported(
        path=out,
        cells=len(records),
        arrays=sum(len(s.arrays or {}) for s in sources),
        notes=_printable(found.notes),
        contradictions=_printable(found.contradictions),
        not_understood=_printable(_strange(found)),
        absent=_absent(found, records, datasets),
    )


def _put_in_order(found: Collected) -> None:
    """Variants as the configuration has them, else as published, else as they came; by seed."""
    named = [found.text(spelled) for spelled in found.said.fields.get("variants", {})]
    known = [found.text(spelled) for spelled in PUBLISHED]
    order = dict.fromkeys([*named, *known, *(text for text, _ in found.cells)])
    place = {text: k for k, text in enumerate(order)}
    keys = sorted(found.cells, key=lambda key: (place[key[0]], key[1]))
    found.cells = {key: found.cells[key] for key in keys}


def _ends(found: Collected, datasets: Mapping[Key, xr.Dataset]) -> tuple[int | None, int | None]:
    """The last step of the schedule, by the configuration, and the last that any cell reached."""
    said = found.said.fields.get("training.steps")
    reached = [step for data in datasets.values() if (step := _reached(data)[0]) is not None]
    far = max(reached, default=None)
    if said is not None and far is not None and far > said:
        found.contradictions.append(f"config says {said:,} steps, arrays reach {far:,}")
        return None, far
    return said, far


def _reached(data: xr.Dataset) -> tuple[int | None, int]:
    """The last step that a cell says anything of, and the widest gap between two such steps."""
    lasts, gaps = [], [0]
    for name in ("step", "validation", "checkpoint"):
        if name in data.coords and data.sizes[name]:
            values = data[name].values
            lasts.append(int(values.max()))
            if name != "checkpoint":
                gaps += np.diff(values).tolist()
    return max(lasts, default=None), int(max(gaps))


def _record(
    key: Key,
    cell: Cell,
    data: xr.Dataset | None,
    ends: tuple[int | None, int | None],
    found: Collected,
) -> CellRecord:
    name = f"{found.spelled[key[0]]}_s{key[1]}"
    best, best_step = _loss(cell.run.get("best_val_loss")), whole(cell.run.get("best_step"))
    step, gap = (None, 0) if data is None else _reached(data)
    # Half-precision curves are coarser than the tolerance.
    curve = None if data is None else data.get("val_loss")
    if curve is not None and np.isfinite(curve.values).any():
        k = int(np.nanargmin(np.where(np.isfinite(curve.values), curve.values, np.nan)))
        lowest, at = float(curve.values[k]), int(curve["validation"].values[k])
        close = max(_TOLERANCE, abs(lowest) * 2.0**-11 if _half(curve.values) else 0.0)
        _check_best(name, best, best_step, curve, lowest, at, close, found)
        final = _loss(cell.run.get("final_val_loss"))
        if final is not None and not abs(final - float(curve.values[-1])) <= close:
            found.contradictions.append(
                f"{name}: final_val_loss {final:.6g}, the curve ends with {curve.values[-1]:.6g}"
            )
        best, best_step = lowest if best is None else best, at if best_step is None else best_step
    bits = _loss(cell.run.get("best_bpc"))
    if bits is not None and best is not None and abs(bits - best / math.log(2)) > _TOLERANCE / 0.5:
        found.contradictions.append(
            f"{name}: best_bpc {bits:.6g}, best_val_loss {best:.6g} is {best / math.log(2):.6g}"
        )
    diverged = _diverged(data, cell, best)
    reached = step if step is not None else best_step if best_step is not None else 0
    said, far = ends
    if step is None and said is not None:
        reached = max(reached, said)
    # Logged every so often, a whole run may end a gap before the schedule does.
    short = step is not None and (
        (said is not None and step + gap < said)
        or (far is not None and step < far and step + gap <= far)
    )
    state = "diverged" if diverged else "stopped" if short else "finished"
    return CellRecord(
        variant=key[0],
        slug="",
        seed=key[1],
        state=state,
        reason=state,
        step=reached,
        best_val=best,
        best_step=best_step,
        train_s=_loss(cell.run.get("wall_s")),
    )


def _check_best(
    name: str,
    best: float | None,
    best_step: int | None,
    curve: xr.DataArray,
    lowest: float,
    at: int,
    close: float,
    found: Collected,
) -> None:
    if best is not None and abs(best - lowest) > close:
        found.contradictions.append(
            f"{name}: best_val_loss {best:.6g}, the lowest of its curve is {lowest:.6g}"
        )
    if best_step is None or best_step == at:
        return
    there = curve.values[curve["validation"].values == best_step]
    if not there.size:
        found.contradictions.append(f"{name}: best_step {best_step:,} is no step of its curve")
    elif not abs(float(there[0]) - lowest) <= close:
        found.contradictions.append(
            f"{name}: best_step {best_step:,}, the lowest of its curve is at {at:,}"
        )


def _half(values: np.ndarray) -> bool:
    """Whether every value is one of half precision, and so was rounded to it."""
    finite = values[np.isfinite(values)]
    with np.errstate(over="ignore"):
        return bool(np.all(finite == finite.astype(np.float16)))


def _diverged(data: xr.Dataset | None, cell: Cell, best: float | None) -> bool:
    """Whether the last loss is not finite."""
    if data is None:
        given = number(cell.run.get("final_val_loss", cell.run.get("best_val_loss")))
        return best is None and given is not None and not math.isfinite(given)
    ends = [data[n].values[-1] for n in ("val_loss", "train_loss") if n in data]
    return any(not math.isfinite(end) for end in ends)


def _check_means(found: Collected, records: Sequence[CellRecord]) -> None:
    """What the comparison says of a variant must be what its runs say."""
    for text, about in found.comparison.items():
        if not isinstance(about, Mapping):
            continue
        values = [r.best_val for r in records if r.variant == text and r.best_val is not None]
        given = next((n for key in _MEANS if (n := number(about.get(key))) is not None), None)
        if given is None or not values:
            continue
        mean = math.fsum(values) / len(values)
        # Published means are rounded to a few digits.
        if abs(given - mean) > 10 * _TOLERANCE:
            found.contradictions.append(
                f"comparison says {given:.6g} for the best validation of {found.spelled[text]}, "
                f"the mean of its runs is {mean:.6g}"
            )


def _sample(key: Key, cell: Cell, found: Collected) -> dict[str, Any] | None:
    sample = cell.run.get("sample")
    if sample is None:
        return None
    if isinstance(sample, str):
        return {"prompt": "", "text": sample}
    if isinstance(sample, Mapping) and isinstance(sample.get("text"), str):
        prompt = sample.get("prompt")
        about = {
            "temperature": number(sample.get("temperature")),
            **{name: whole(sample.get(name)) for name in ("top_k", "seed", "step")},
        }
        text = {"prompt": prompt if isinstance(prompt, str) else "", "text": sample["text"]}
        return text | {name: value for name, value in about.items() if value is not None}
    runs = found.strange_json.setdefault("runs", {})
    runs.setdefault(f"{found.spelled[key[0]]}_s{key[1]}", {})["sample"] = sample
    return None


def _parameters(text: str, found: Collected) -> int | None:
    """How many parameters a variant has, where its runs do not disagree."""
    given = [c.run.get("params") for (t, _), c in found.cells.items() if t == text]
    about = found.comparison.get(text)
    if isinstance(about, Mapping):
        given.append(about.get("params"))
    counts = sorted({n for value in given if (n := whole(value)) is not None})
    if len(counts) > 1:
        found.contradictions.append(
            f"{found.spelled[text]} has {' and '.join(f'{n:,}' for n in counts)} parameters: "
            "neither is taken"
        )
    return counts[0] if len(counts) == 1 else None


def _configuration(found: Collected) -> dict[str, Any]:
    """What is said of the configuration, in a bundle's order, nothing beside it."""
    parts = {name: found.said.part(name) for name in ("model", "training", "integrator")}
    record: dict[str, Any] = {name: part for name, part in parts.items() if part}
    others = ("seeds", "corpus", *RUN_FIELDS)
    return record | {k: found.said.fields[k] for k in others if k in found.said.fields}


def _corpus(found: Collected) -> dict[str, Any]:
    record = dict(found.said.fields.get("corpus_record", {}))
    size = record.get("characters", found.said.fields.get("characters"))
    record.pop("characters", None)
    if whole(size) is not None:
        record["characters"] = whole(size)
    name = found.said.fields.get("corpus")
    return {"name": name, **record} if name and "name" not in record else record


def _vocabulary(found: Collected) -> dict[str, Any]:
    record = dict(found.said.fields.get("vocabulary_record", {}))
    characters = record.get("characters")
    if isinstance(characters, str) and record.get("size") == len(characters):
        return record
    return {}


def _origin(sources: Sequence[Source], names: Sequence[str], found: Collected) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "files": [
            {"name": s.path.name, "copy": f"origin/{name}", "sha256": s.sha256, "bytes": s.size}
            for s, name in zip(sources, names, strict=True)
        ],
        "variants": found.spelled,
        "comparison": {found.spelled.get(text, text): v for text, v in found.comparison.items()},
        "notes": found.notes,
        "contradictions": found.contradictions,
        "not_understood": {"arrays": found.strange_arrays, "json": found.strange_json},
    }


def _copies(sources: Sequence[Source]) -> list[str]:
    """File names for the copies, distinct even where case does not count."""
    taken: set[str] = set()
    names = []
    for k, source in enumerate(sources):
        name = source.path.name
        name = f"{k}-{name}" if name.lower() in taken else name
        taken.add(name.lower())
        names.append(name)
    return names


def _strange(found: Collected) -> list[str]:
    """What was not understood, a line each, runs of the same key in one."""
    lines = [f"array {a['name']} {tuple(a['shape'])}: {a['why']}" for a in found.strange_arrays]
    for part, value in found.strange_json.items():
        if part == "runs" and isinstance(value, Mapping):
            runs = [run for run in value.values() if isinstance(run, Mapping)]
            keys = dict.fromkeys(key for run in runs for key in run)
            lines += [f"runs.*.{key}, in {sum(key in r for r in runs)} runs" for key in keys]
        elif part == "config" and isinstance(value, Mapping):
            lines += [f"config.{key}" for key in value]
        else:
            lines.append(str(part))
    return lines


def _absent(
    found: Collected, records: Sequence[CellRecord], datasets: Mapping[Key, xr.Dataset]
) -> list[str]:
    """What a bundle of ours would hold; found by looking, but for what means cannot give."""
    held = {str(n) for data in datasets.values() for n in data.data_vars}
    wanted = {
        "train_loss": "training losses",
        "val_loss": "validation losses",
        "step_length": "step lengths, and so the path length",
        "turning_angle": "turning angles",
        "stream_norm": "norms of the stream",
        "velocity_norm": "velocity norms",
        "raw_step": "steps before the retraction",
    }
    lines = [words for name, words in wanted.items() if name not in held]
    lines.append("values a token, chord, straightness, null models and weights, which means "
                 "over tokens cannot give")  # fmt: skip
    if all(r.best_val is None for r in records):
        lines.append("best validation")
    if not found.said.fields:
        lines.append("configuration")
    grid = {(t, s) for t in {r.variant for r in records} for s in {r.seed for r in records}}
    gone = sorted(grid - set(found.cells))
    if gone:
        lines.append(f"cells {', '.join(f'{t}/{s}' for t, s in gone)}")
    return lines


def _printable(lines: Sequence[str]) -> list[str]:
    """The lines without what could move a terminal's cursor: names in them are the files'."""
    return ["".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
            for line in lines]  # fmt: skip


def _loss(value: Any) -> float | None:
    found = number(value)
    return found if found is not None and math.isfinite(found) else None
