"""What the interactive figures draw: curves, profiles through depth, paths in a plane."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from velocity_ledger.experiment import Bundle
from velocity_ledger.report._data import (
    Curve,
    Variant,
    difference,
    facts,
    intervals,
    mean_curve,
    mean_defined,
)
from velocity_ledger.report._style import look, short
from velocity_ledger.report.motion._geometry import alignment, lay_out, place, upright
from velocity_ledger.report.page._paths import QUANTITIES, scalars
from velocity_ledger.telemetry import mean_interval

_STREAM = "units of the residual stream"


def _same(rows: np.ndarray) -> np.ndarray:
    return rows


def _so_far(rows: np.ndarray) -> np.ndarray:
    return np.cumsum(rows, axis=-1)


# key, quantity, what is made of it, title, unit in words, unit beside a number
_PROFILES: tuple[tuple[str, str, Callable[[np.ndarray], np.ndarray], str, str, str], ...] = (
    ("step_length", "step_length", _same, "Step length", _STREAM, ""),
    ("turning_angle", "turning_angle", _same, "Turning angle from the step before", "degrees", "°"),
    ("path_so_far", "step_length", _so_far, "Path so far", _STREAM, ""),
    ("stream_norm", "stream_norm", _same, "Norm of the stream", _STREAM, ""),
    ("velocity_norm", "velocity_norm", _same, "Velocity norm", _STREAM, ""),
    ("increment", "increment", _same, "Increment: what the field returns", _STREAM, ""),
)


def charts(bundle: Bundle, found: Sequence[Variant]) -> dict[str, Any]:
    """All numbers of the figures, ready for strict JSON."""
    measured = [v for v in found if checkpoints(v)]
    alternating = facts(bundle).alternating or 0
    return {
        "variants": [_look(v, alternating) for v in found],
        "validation": _validation(found),
        "differences": _differences(found),
        "checkpoints": sorted({c for v in measured for c in checkpoints(v)}),
        "profiles": _profiles(measured),
        "plane": _plane(measured),
        "scalars": _scalars(measured),
    }


def checkpoints(variant: Variant) -> list[int]:
    """Training steps at which any cell of the variant was measured."""
    found: set[int] = set()
    for data in variant.cells.values():
        if "checkpoint" in data.coords:
            found |= {int(c) for c in data["checkpoint"].values}
    return sorted(found)


def _look(variant: Variant, alternating: int) -> dict[str, Any]:
    depth = max((d.sizes.get("sub_update", 0) for d in variant.cells.values()), default=0)
    return {
        "v": variant.index,
        "name": short(variant.text, 28),
        "text": variant.text,
        "note": "diverged" if variant.diverged else "",
        # Attention and MLP in turns, which the markers say.
        "halves": depth == alternating > 0,
    }


def dashes() -> list[str]:
    """The dash patterns of the figures, in turn, as SVG writes them."""
    # Matplotlib's are in line widths, and ours are 2 pixels wide.
    return [" ".join(f"{2 * d:g}" for d in look(k).dashes[1]) or "none" for k in range(9)]


def _validation(found: Sequence[Variant]) -> list[dict[str, Any]]:
    series = []
    for variant in found:
        curves = variant.curves()
        if curves:
            best = [[seed, *curve.best] for seed, curve in sorted(curves.items())]
            series.append({"v": variant.index, "best": best, **_family(curves)})
    return series


def _differences(found: Sequence[Variant]) -> dict[str, Any] | None:
    """Losses minus the reference's at the same seed and step, with intervals over the seeds."""
    reference = next((v for v in found if v.index == 0), None)
    if reference is None or reference.diverged:
        return None
    own, series = reference.curves(), []
    for variant in found:
        # As in the table, what diverged is no rival.
        if variant is reference or variant.diverged:
            continue
        pairs = {s: difference(c, own[s]) for s, c in variant.curves().items() if s in own}
        pairs = {s: c for s, c in pairs.items() if c.step.size}
        if pairs:
            series.append({"v": variant.index, **_family(pairs)})
    return {"reference": short(reference.text, 28), "series": series} if series else None


def _family(curves: dict[int, Curve]) -> dict[str, Any]:
    """Curves of seeds and, at the steps they share, their mean and its interval."""
    mean = mean_curve(list(curves.values()))
    rows = [curve.loss[np.isin(curve.step, mean.step)] for curve in curves.values()]
    band = [mean_interval(column) for column in np.transpose(rows)] if mean.step.size else []
    return {
        "x": mean.step,
        "y": mean.loss,
        "low": [i.low for i in band],
        "high": [i.high for i in band],
        "seeds": [
            {"seed": s, "x": c.step, "y": c.loss} for s, c in sorted(curves.items())
        ] if len(curves) > 1 else [],
        "n": len(curves),
    }  # fmt: skip


def _profiles(measured: Sequence[Variant]) -> list[dict[str, Any]]:
    panels = []
    for key, name, made_of, title, unit, suffix in _PROFILES:
        data = {}
        for variant in measured:
            at = {}
            for checkpoint in checkpoints(variant):
                rows = variant.profiles(name, checkpoint)
                if rows is not None and np.isfinite(rows).any():
                    at[checkpoint] = _over_seeds(made_of(rows))
            if at:
                data[variant.index] = at
        if data:
            words = {"name": key, "title": title, "unit": unit, "suffix": suffix}
            panels.append({**words, "data": data})
    return panels


def _over_seeds(rows: np.ndarray) -> dict[str, Any]:
    bands = intervals(rows)
    return {
        "y": mean_defined(rows.T),
        "low": [band and band.low for band in bands],
        "high": [band and band.high for band in bands],
        "n": len(rows),
    }


def _plane(measured: Sequence[Variant]) -> dict[str, Any] | None:
    """Every path as points of a plane, turned so that those of one variant move little.

    A path whose steps' inner products are recorded is projected on the plane that shows most of
    it; where any variant lacks them, all are laid out from mean lengths and angles instead.
    """
    projected = bool(measured) and all(
        "step_gram" in cell for variant in measured for cell in variant.cells.values()
    )
    data = {}
    for variant in measured:
        placed: dict[int, tuple[np.ndarray, float | None]] = {}
        for checkpoint in checkpoints(variant):
            points = (_projection if projected else _layout)(variant, checkpoint)
            if points is not None:
                placed[checkpoint] = points
        at, after = {}, None
        # From the last to the first: the last is upright, each other near the one after it.
        for checkpoint, (points, share) in sorted(placed.items(), reverse=True):
            turn = upright(points) if after is None else alignment(points, after)
            after = points @ turn
            at[checkpoint] = {"x": after[:, 0], "y": after[:, 1], "share": share}
        if at:
            data[variant.index] = dict(sorted(at.items()))
    return {"projected": projected, "data": data} if data else None


def _projection(variant: Variant, checkpoint: int) -> tuple[np.ndarray, float | None] | None:
    # The mean over seeds is the Gram matrix of all their tokens' paths, stacked.
    grams = [
        cell["step_gram"].sel(checkpoint=checkpoint).values.astype(np.float64)
        for cell in variant.at(checkpoint).values()
    ]
    gram = np.mean(grams, axis=0)
    if not np.isfinite(gram).all():
        return None
    placed = place(gram)
    return placed.points, placed.variance


def _layout(variant: Variant, checkpoint: int) -> tuple[np.ndarray, float | None] | None:
    lengths = variant.profile("step_length", checkpoint)
    angles = variant.profile("turning_angle", checkpoint)
    if lengths is None or angles is None or not np.isfinite(lengths).all():
        return None
    return lay_out(lengths, angles), None


def _scalars(measured: Sequence[Variant]) -> dict[str, Any]:
    """Quantities of the path at every checkpoint, [measured, null], means over seeds."""
    result = {}
    for variant in measured:
        at = {}
        for checkpoint in checkpoints(variant):
            rows = list(scalars(variant, checkpoint).values())
            at[checkpoint] = {
                q.name: [_mean(rows, q.name), _mean(rows, f"null_{q.name}")] for q in QUANTITIES
            }
        result[variant.index] = at
    return {
        "names": [
            {"name": q.name, "title": q.title, "unit": q.unit, "digits": q.digits}
            for q in QUANTITIES
        ],
        "data": result,
    }


def _mean(rows: Sequence[dict[str, float]], name: str) -> float | None:
    known = [row[name] for row in rows if name in row]
    return float(np.mean(known)) if known else None
