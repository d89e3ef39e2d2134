"""Validation loss against training step, and each variant's difference from the reference."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from velocity_ledger.report._data import Curve, Variant, difference, left_out, mean_curve
from velocity_ledger.report._labels import Label, label_ends, width_of
from velocity_ledger.report._style import FAINT, figure, look, note, short


def validation_figure(variants: Sequence[Variant], unit: str) -> Figure | None:
    """Curves of every seed, thin, and of their mean; None where nothing was validated.

    The lower part shows the paired differences from the first variant of the run, seed by seed,
    where there is more than one variant.
    """
    curves = {v: c for v, c in zip(variants, (v.curves() for v in variants), strict=True) if c}
    if not curves:
        return None
    reference = next((v for v in curves if v.index == 0), None)
    others = [v for v in curves if v is not reference and _paired(v, curves, reference)]
    names = {v: f"{short(v.text)} {_mean_best(c):.3f}" for v, c in curves.items()}
    right = width_of(list(names.values()))
    height = 6.6 if others else 4.6
    made = figure(7.4 + right, height)
    grid = made.add_gridspec(
        2 if others else 1,
        1,
        left=0.85 / (7.4 + right),
        right=7.2 / (7.4 + right),
        top=1 - 0.75 / height,
        bottom=0.6 / height,
        hspace=0.42,
        height_ratios=[1.7, 1] if others else [1],
    )
    upper = made.add_subplot(grid[0])
    several = any(len(c) > 1 for c in curves.values())
    ends = []
    for variant, by_seed in curves.items():
        _draw(upper, variant, by_seed)
        for curve in by_seed.values():
            step, loss = curve.best
            upper.plot([step], [loss], "o", ms=6, mfc="white", mec=look(variant.index).colour)
        ends += _end(mean_curve(list(by_seed.values())), variant, names[variant])
    upper.set_title(f"Validation loss, dropout off{left_out(variants)}")
    note(
        upper,
        "ring: best validation of a seed, their mean in numbers; thin: seeds, thick: their mean"
        if several
        else "ring and number: best validation",
    )
    upper.set_ylabel(f"nats per {unit}")
    panels = [(upper, ends)]
    if others and reference is not None:
        lower = made.add_subplot(grid[1], sharex=upper)
        panels.append((lower, _draw_differences(lower, others, curves, reference)))
        lower.set_ylabel(f"nats per {unit}")
        upper.tick_params(labelbottom=False)
    panels[-1][0].set_xlabel("training step")
    # The limits are shared: first set them all.
    for axes, _ in panels:
        axes.margins(x=0.02)
    for axes, labels in panels:
        label_ends(axes, labels)
    return made


def _draw_differences(
    axes: Axes,
    others: Sequence[Variant],
    curves: dict[Variant, dict[int, Curve]],
    reference: Variant,
) -> list[Label]:
    axes.axhline(0.0, color=look(reference.index).colour, linewidth=1.0)
    ends = []
    for variant in others:
        pairs = _paired(variant, curves, reference)
        _draw(axes, variant, pairs)
        ends += _end(mean_curve(list(pairs.values())), variant, short(variant.text))
    axes.set_title(f"Difference from {short(reference.text)} at the same seed (below 0 is better)")
    # The first validations differ by much that the last ones no longer do.
    values = np.concatenate(
        [
            curve.loss[curve.step >= 0.2 * curve.step.max()]
            for variant in others
            for curve in _paired(variant, curves, reference).values()
        ]
    )
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    pad = 0.12 * (high - low) or 1e-3
    axes.set_ylim(low - pad, high + pad)
    return ends


def _paired(
    variant: Variant, curves: dict[Variant, dict[int, Curve]], reference: Variant | None
) -> dict[int, Curve]:
    # As in the table, what diverged is no rival.
    if reference is None or variant.diverged or reference.diverged:
        return {}
    found = {}
    for seed in curves[variant].keys() & curves[reference].keys():
        curve = difference(curves[variant][seed], curves[reference][seed])
        if curve.step.size:
            found[seed] = curve
    return dict(sorted(found.items()))


def _draw(axes: Axes, variant: Variant, by_seed: dict[int, Curve]) -> None:
    drawn = look(variant.index)
    if len(by_seed) > 1:
        for curve in by_seed.values():
            axes.plot(curve.step, curve.loss, color=drawn.colour, alpha=FAINT, linewidth=0.8)
    mean = mean_curve(list(by_seed.values()))
    if not mean.step.size:
        return
    # One validation is no line.
    marker = "o" if mean.step.size == 1 else ""
    axes.plot(mean.step, mean.loss, color=drawn.colour, linestyle=drawn.dashes, marker=marker, ms=4)


def _end(curve: Curve, variant: Variant, text: str) -> list[Label]:
    """The label of a mean's end; none where the seeds share no step."""
    if not curve.step.size:
        return []
    colour = look(variant.index).colour
    return [Label(float(curve.step[-1]), float(curve.loss[-1]), text, colour)]


def _mean_best(by_seed: dict[int, Curve]) -> float:
    return float(np.mean([curve.best[1] for curve in by_seed.values()]))
