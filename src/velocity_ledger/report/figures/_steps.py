"""Step lengths through depth beside what the field asked for and the velocity that pays them."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from velocity_ledger.report._data import Facts, Variant
from velocity_ledger.report._labels import distinct
from velocity_ledger.report._style import NOTE, look, tint
from velocity_ledger.report.figures._page import (
    LONG,
    Grid,
    Head,
    Panel,
    about,
    at_steps,
    number,
    seeds_of,
    sheet,
    sub_updates,
)

_WIDTH = 10.2
_UNEQUAL = 6.0  # Beyond this ratio of their largest values, panels have scales of their own.


def steps_figure(variants: Sequence[Variant], facts: Facts) -> Figure | None:
    """Bars a sub-update, a panel a variant, at the last checkpoint; None without step lengths.

    Filled, the step |x_k - x_(k-1)| that the stream took; hollow, the increment |f_k| that the
    field asked for; a line, the velocity |v_k| where there is one. Means over tokens and seeds.
    """
    drawn = {v: p for v in variants if (p := _profiles(v))}
    if not drawn:
        return None
    tops = {v: max(float(np.nanmax(values)) for values in p.values()) for v, p in drawn.items()}
    sizes = [top for top in tops.values() if top > 0]
    shared = not sizes or max(sizes) <= _UNEQUAL * min(sizes)
    names = distinct([v.text for v in drawn], LONG)
    one = len({v.checkpoint for v in drawn}) == 1
    panels = [
        Panel(name, look(v.index).ink, (_numbers(v, p, one),))
        for (v, p), name in zip(drawn.items(), names, strict=True)
    ]
    grid = Grid(panels, _WIDTH, panel_height=1.9, shared=shared)
    head = _head(drawn, facts, shared)
    made = sheet(head, 0.1 + grid.height)
    axes = grid.draw(made, head.height + 0.1, "sub-update", "units of the\nresidual stream")
    for panel, variant in zip(axes, drawn, strict=True):
        _draw(panel, variant, drawn[variant])
        top = max(tops.values()) if shared else tops[variant]
        panel.set_ylim(0.0, 1.06 * top or 1.0)
    return made


def _profiles(variant: Variant) -> dict[str, np.ndarray]:
    """Step lengths and what is known beside them; empty without step lengths."""
    if variant.checkpoint is None:
        return {}
    found = {}
    for name in ("step_length", "increment", "velocity_norm"):
        profile = variant.profile(name, variant.checkpoint)
        if profile is not None and np.isfinite(profile).any():
            found[name] = profile
    return found if "step_length" in found else {}


def _numbers(variant: Variant, profiles: Mapping[str, np.ndarray], one: bool) -> str:
    paid = float(np.nansum(profiles["step_length"]))
    text = f"path {number(paid)}"
    if "increment" in profiles:
        asked = float(np.nansum(profiles["increment"]))
        if asked > 0:
            text += f", {100 * paid / asked:.0f} % of the {number(asked)} asked for"
    return text if one else f"step {variant.checkpoint:,}: {text}"


def _head(drawn: Mapping[Variant, Mapping[str, np.ndarray]], facts: Facts, shared: bool) -> Head:
    variants = list(drawn)
    asked = any("increment" in p for p in drawn.values())
    velocity = any("velocity_norm" in p for p in drawn.values())
    meaning = ""
    if asked and velocity:
        meaning = (
            "A plain block takes the whole of what each field asks for. A ledger enters it in a "
            "velocity that fills slowly, and pays every step out of that. A step scale or a "
            "retraction makes the step taken another than the velocity."
        )
    notes = []
    several = ", means over tokens and seeds" if _several(variants) else ", means over tokens"
    scale = "All panels have one scale" if shared else "Each panel has its own scale"
    alternate = {p["step_length"].size for p in drawn.values()} == {facts.alternating}
    kinds = " Odd sub-updates are attention, even ones MLP." if alternate else ""
    if len(drawn) > 1:
        notes.append(f"{scale}{several}.{kinds}")
    else:
        notes.append(f"{several[2:].capitalize()}.{kinds}")
    notes += about(facts, variants)
    if not asked:
        notes.append("What the fields asked for was not recorded.")
    key: list[Artist] = [
        Patch(fc=tint(NOTE), lw=0, label="step taken |x_k − x_(k−1)|"),
    ]
    if asked:
        key.append(Patch(fc="none", ec=NOTE, lw=1.0, label="increment asked for |f_k|"))
    if velocity:
        line = Line2D([], [], color="black", marker="D", mfc="white", ms=4.5, lw=1.2)
        line.set_label("velocity |v_k|")
        key.append(line)
    title = f"Step sizes through depth {at_steps(variants)}, {seeds_of(variants)}"
    return Head(_WIDTH, title, (meaning, " ".join(notes)), key)


def _several(variants: Sequence[Variant]) -> bool:
    return any(len(v.at(v.checkpoint)) > 1 for v in variants if v.checkpoint is not None)


def _draw(axes: Axes, variant: Variant, profiles: Mapping[str, np.ndarray]) -> None:
    colour = look(variant.index).colour
    steps = profiles["step_length"]
    depth = np.arange(1, steps.size + 1)
    axes.grid(False, axis="x")
    axes.bar(depth, steps, width=0.62, color=tint(colour), linewidth=0)
    if "increment" in profiles:
        asked = profiles["increment"]
        axes.bar(
            np.arange(1, asked.size + 1), asked, width=0.82, facecolor="none",
            edgecolor=colour, linewidth=1.0,
        )  # fmt: skip
    if "velocity_norm" in profiles:
        velocity = profiles["velocity_norm"]
        axes.plot(
            np.arange(1, velocity.size + 1), velocity, "-D", color="black", mfc="white", ms=4.5,
            linewidth=1.2, zorder=3,
        )  # fmt: skip
    sub_updates(axes, steps.size, 0.4, steps.size + 0.6)
