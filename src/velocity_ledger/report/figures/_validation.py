"""Validation loss against training step, and each variant's difference from the reference."""

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from velocity_ledger.report._data import (
    Curve,
    Facts,
    Variant,
    difference,
    mean_curve,
    paired_band,
)
from velocity_ledger.report._labels import Label, distinct, label_ends, width_of
from velocity_ledger.report._style import FAINT, NOTE, look
from velocity_ledger.report.figures._page import (
    LONG,
    Grid,
    Head,
    Panel,
    about,
    box,
    seeds_of,
    sheet,
    whole_steps,
)
from velocity_ledger.telemetry import Interval

_UPPER = 3.3  # Inches of the curves.
_BAND = 0.22  # Opacity of an interval.
_WIDTH = 10.2
_LATE = 0.2  # Part of the training after which differences set the scale.


def validation_figure(variants: Sequence[Variant], facts: Facts) -> Figure | None:
    """Curves of every seed, thin, and of their mean; None where nothing was validated.

    Below, where there is more than one variant, the paired differences from the first variant of
    the run at the same seed, with their 95 % Student interval over seeds, a panel a variant.
    """
    curves = {v: c for v in variants if (c := v.curves())}
    if not curves:
        return None
    labels = dict(zip(curves, distinct([v.text for v in curves]), strict=True))
    reference = next((v for v in curves if v.index == 0), None)
    pairs = _pairs(curves, reference)
    grid = None
    if reference is not None and pairs:
        names = distinct([v.text for v in pairs], LONG)
        panels = [_panel(v, name) for v, name in zip(pairs, names, strict=True)]
        grid = Grid(panels, _WIDTH, panel_height=1.5)
    head = _head(curves, facts, reference, pairs, labels)
    below = 0.6 if grid is None else 1.05 + grid.height
    made = sheet(head, 0.15 + _UPPER + below)

    ends_text = {v: f"{labels[v]} {_mean_best(c):.3f}{_lost(v)}" for v, c in curves.items()}
    right = width_of(list(ends_text.values()))
    upper = box(made, 0.85, head.height + 0.15, _WIDTH - 0.85 - right, _UPPER)
    _draw_curves(upper, curves, ends_text)
    upper.set_ylabel(f"validation loss, nats per {facts.unit}")
    upper.set_xlabel("training step")

    if grid is not None and reference is not None:
        top = head.height + 0.15 + _UPPER + 0.95
        height = float(made.get_size_inches()[1])
        title = f"Difference from {labels[reference]} at the same seed (below 0 is better)"
        made.text(0.2 / _WIDTH, 1 - top / height, title, fontsize=11, weight="bold", va="bottom")
        axes = grid.draw(made, top + 0.1, "training step", f"nats per {facts.unit}")
        _draw_differences(axes, pairs, curves, reference)
        for one in axes:
            one.set_xlim(upper.get_xlim())
    return made


def _head(
    curves: dict[Variant, dict[int, Curve]],
    facts: Facts,
    reference: Variant | None,
    pairs: Sequence[Variant],
    labels: dict[Variant, str],
) -> Head:
    last = max(int(c.step[-1]) for by_seed in curves.values() for c in by_seed.values())
    of = f" of {facts.steps:,}" if facts.steps is not None and facts.steps > last else ""
    seeds = seeds_of(curves, checkpoints=False)
    notes = about(facts, list(curves))
    counts = {len(curves[v].keys() & curves[reference].keys()) for v in pairs if reference}
    if counts == {1}:
        notes.append("One seed: the differences have no interval.")
    elif 1 in counts:
        notes.append("A difference of one seed has no interval.")
    if len(curves) == 1:
        notes.append("One variant: there is nothing to compare it with.")
    lost = [labels[v] for v in curves if v.diverged]
    if lost and len(curves) > 1:
        notes.append(f"No difference is taken of what diverged: {', '.join(lost)}.")
    if counts:
        notes.append("Below, best is the difference of the best validations, wherever they are.")
    several = any(len(by_seed) > 1 for by_seed in curves.values())
    best = "best validation of a seed, their mean in numbers" if several else "best validation"
    key: list[Artist] = [Line2D([], [], marker="o", ls="", mfc="white", mec=NOTE, ms=6, label=best)]
    if several:
        key.append(Line2D([], [], color=NOTE, lw=1.8, label="mean over seeds"))
        key.append(Line2D([], [], color=NOTE, lw=0.8, alpha=0.6, label="a seed"))
    if counts - {1}:
        band = "95 % Student interval of the paired difference over seeds"
        key.append(Patch(color=NOTE, alpha=_BAND, lw=0, label=band))
    title = f"Validation loss with dropout off: {seeds}, up to step {last:,}{of}"
    return Head(_WIDTH, title, (" ".join(notes),), key)


def _pairs(curves: dict[Variant, dict[int, Curve]], reference: Variant | None) -> list[Variant]:
    """Variants that share a validation of a seed with the reference."""
    # As in the table, what diverged is no rival.
    if reference is None or reference.diverged:
        return []
    rivals = [v for v in curves if v is not reference and not v.diverged]
    return [v for v in rivals if _differences(curves[v], curves[reference])]


def _differences(a: dict[int, Curve], b: dict[int, Curve]) -> dict[int, Curve]:
    """Losses a - b, a seed each, where the two share a step."""
    found = {seed: difference(a[seed], b[seed]) for seed in sorted(a.keys() & b.keys())}
    return {seed: curve for seed, curve in found.items() if curve.step.size}


def _panel(variant: Variant, label: str) -> Panel:
    if variant.difference is not None:
        note = f"best: {_signed(variant.difference)}"
    else:
        note = "no best of cells equally far"
    return Panel(label, look(variant.index).ink, (note,))


def _signed(difference: Interval) -> str:
    text = f"{difference.mean:+.4f}"
    if difference.low is not None and difference.high is not None:
        text += f" [{difference.low:+.4f}, {difference.high:+.4f}]"
    else:
        text += ", no interval"
    return text.replace("-", "−")


def _draw_curves(
    axes: Axes, curves: dict[Variant, dict[int, Curve]], ends_text: dict[Variant, str]
) -> None:
    ends = []
    for variant, by_seed in curves.items():
        style = look(variant.index)
        if len(by_seed) > 1:
            for curve in by_seed.values():
                axes.plot(curve.step, curve.loss, color=style.colour, alpha=FAINT, linewidth=0.8)
        mean = mean_curve(list(by_seed.values()))
        if mean.step.size:
            _line(axes, mean, variant)
        for curve in by_seed.values():
            step, loss = curve.best
            axes.plot([step], [loss], "o", ms=6, mfc="white", mec=style.colour)
        # Where the seeds share no step there is no mean to label: label the longest of them.
        end = mean if mean.step.size else max(by_seed.values(), key=lambda c: int(c.step[-1]))
        x, y = float(end.step[-1]), float(end.loss[-1])
        ends.append(Label(x, y, ends_text[variant], style.ink))
    axes.margins(x=0.02)
    steps = {int(step) for by_seed in curves.values() for c in by_seed.values() for step in c.step}
    if len(steps) == 1:
        axes.set_xlim(0.0, 1.1 * max(*steps, 1))
    whole_steps(axes, 9)
    label_ends(axes, ends)


def _draw_differences(
    panels: Sequence[Axes],
    pairs: Sequence[Variant],
    curves: dict[Variant, dict[int, Curve]],
    reference: Variant,
) -> None:
    late = [0.0]
    for axes, variant in zip(panels, pairs, strict=True):
        style = look(variant.index)
        axes.axhline(0.0, color=look(reference.index).colour, linewidth=1.0)
        by_seed = _differences(curves[variant], curves[reference])
        if len(by_seed) > 1:
            for curve in by_seed.values():
                axes.plot(curve.step, curve.loss, color=style.colour, alpha=FAINT, linewidth=0.8)
        both = ({s: side[s] for s in by_seed} for side in (curves[variant], curves[reference]))
        steps, found = paired_band(*both)
        if steps.size:
            _line(axes, Curve(steps, np.array([one.mean for one in found])), variant)
        low, high = (
            np.array([np.nan if v is None else v for v in (getattr(i, side) for i in found)])
            for side in ("low", "high")
        )
        if np.isfinite(low).any():
            axes.fill_between(
                steps, low, high, color=style.colour, alpha=_BAND, linewidth=0,
            )  # fmt: skip
            if steps.size == 1:
                # One step is no area.
                axes.vlines(steps, low, high, color=style.colour, alpha=0.6)
        late += _late(steps, low, high)
        for curve in by_seed.values():
            late += _late(curve.step, curve.loss)
        whole_steps(axes, 5)
    # The first validations differ by much that the last ones no longer do.
    low, high = min(late), max(late)
    pad = 0.12 * (high - low) or 1e-3
    for axes in panels:
        axes.set_ylim(low - pad, high + pad)


def _late(steps: np.ndarray, *values: np.ndarray) -> list[float]:
    if not steps.size:
        return []
    chosen = np.concatenate([v[steps >= _LATE * steps.max()] for v in values])
    return [float(v) for v in chosen[np.isfinite(chosen)]]


def _line(axes: Axes, curve: Curve, variant: Variant) -> None:
    style = look(variant.index)
    # One validation is no line.
    marker = "o" if curve.step.size == 1 else ""
    axes.plot(
        curve.step, curve.loss, color=style.colour, linestyle=style.dashes, marker=marker, ms=4
    )


def _lost(variant: Variant) -> str:
    return ", diverged" if variant.diverged else ""


def _mean_best(by_seed: dict[int, Curve]) -> float:
    return float(np.mean([curve.best[1] for curve in by_seed.values()]))
