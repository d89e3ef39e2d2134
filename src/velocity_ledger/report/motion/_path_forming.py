"""The path through depth as training forms it, two variants side by side."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, UInt8
from scipy.interpolate import PchipInterpolator

from velocity_ledger.report._data import Facts
from velocity_ledger.report._labels import distinct
from velocity_ledger.report._style import NOTE, harmless, look
from velocity_ledger.report.motion._geometry import Placed
from velocity_ledger.report.motion._gif import TICK
from velocity_ledger.report.motion._small_print import small_print
from velocity_ledger.report.motion._stage import (
    Stage,
    ease,
    lines,
    listed,
    number,
    width_of,
)
from velocity_ledger.report.motion._walk import NUMBERS, Walk, aligned

COLOURS = ("#000000", NOTE, "#DDDDDD")
WIDTH = 860
_LEFT, _RIGHT = 34.0, WIDTH - 34.0
_TALLEST = 270  # Pixels a path may take.
_HOLD_FIRST, _HOLD_LAST = 700, 2200
_MOVING = 8_000  # Milliseconds from the first measured step to the last.
_TITLES = {
    "path_length": ("path length", "units of the stream", ""),
    "turning_angle": ("turning angle", "mean, degrees", "°"),
    "path_over_norm": ("path / final norm", "no unit", ""),
}


class Scene:
    """The picture of the forming path, and its frames."""

    def __init__(self, walks: Sequence[Walk], facts: Facts) -> None:
        self.walks = walks
        self.steps = common_steps(walks)
        self._moments = moments(self.steps)
        self._paths = [aligned([_at(w, self.steps, m) for m in self._moments]) for w in walks]
        points = [p.points for paths in self._paths for p in paths]
        low = np.min([p.min(0) for p in points], axis=0)
        high = np.max([p.max(0) for p in points], axis=0)
        size = np.where(high > low, high - low, 1.0)
        gap = 30.0
        wide = (_RIGHT - _LEFT - gap * (len(walks) - 1)) / len(walks)
        self.scale = float(min((wide - 30) / size[0], _TALLEST / size[1]))
        tall = max(90.0, self.scale * float(high[1] - low[1]))
        head, header = 132.0, 100.0
        strips = head + header + tall + 42
        shown = [name for name in NUMBERS if any(name in _numbers(w, self.steps) for w in walks)]
        line = strips + (78 + 36 * len(walks) if shown else 0)
        names = distinct([walk.variant.text for walk in walks], 22)
        small = lines(self._small_print(names, bool(shown)), _RIGHT - _LEFT, 16.5)
        self.stage = stage = Stage(WIDTH, int(line + 84 + 21.5 * len(small)))
        stage.text(_LEFT, 44, "The path through depth, forming in training", 30, bold=True)
        stage.paragraph(
            _LEFT, 78, _RIGHT - _LEFT,
            "Each line is the route of the network's running state (its residual stream) from "
            "first layer to last; a dot is one sub-update.",
            20, "black",
        )  # fmt: skip
        self.panels = []
        for k, walk in enumerate(walks):
            x = _LEFT + k * (wide + gap)
            spare = tall - self.scale * float(high[1] - low[1])
            origin = np.array(
                [
                    x + 12 - self.scale * low[0],
                    head + header + 8 + spare / 2 + self.scale * high[1],
                ]
            )
            self.panels.append(
                Panel(stage, walk, names[k], (x, wide, head), origin, self.scale, facts.unit)
            )
        self._strips = []
        if shown:
            room = 24 + max(width_of(name, 19, bold=True) for name in names)
            each = (_RIGHT - _LEFT - room) / len(shown)
            for k, walk in enumerate(walks):
                ink = look(walk.variant.index).ink
                stage.text(_LEFT, strips + 62 + 36 * k, names[k], 19, colour=ink, bold=True)
            for k, name in enumerate(shown):
                self._strips.append(
                    Strip(stage, walks, self.steps, name, (_LEFT + room + k * each, each), strips)
                )
        self._line(line)
        for k, text in enumerate(small):
            stage.text(_LEFT, line + 84 + 21.5 * k, text, 16.5, colour=NOTE)

    def _line(self, top: float) -> None:
        """The time line, with the measured steps on it."""
        first, last = self.steps[0], self.steps[-1]
        label = "training step "
        self._step = self.stage.text(_LEFT, top + 30, "", 22, bold=True, moving=True)
        x0 = _LEFT + width_of(f"{label}{last:,}", 22, bold=True) + 34
        x1 = _RIGHT - 12
        self._x0, self._per_step = x0, (x1 - x0) / max(last - first, 1)
        y = top + 23.0
        self._y = y
        self.stage.line(np.array([[x0, y], [x1, y]]), "#DDDDDD", 4)
        self._so_far = self.stage.line(np.array([[x0, y], [x0, y]]), NOTE, 4, moving=True)
        ticks = np.array([[self._x_of(float(step)), y] for step in self.steps])
        self.stage.marks(ticks, NOTE, 11, fill="white", edge=2.0)
        self._passed = self.stage.marks(ticks, NOTE, 11, moving=True, edge=2.0)
        self._ticks = ticks
        self._now = self.stage.marks(ticks[:1], "black", 17, moving=True, edge=0.0)
        end = -math.inf
        for step, (x, _) in sorted(zip(self.steps, ticks, strict=True), key=lambda p: p[0] != last):
            # The last is named whatever happens; of the others, those that have room.
            text = f"{step:,}"
            half = width_of(text, 16.5) / 2 + 6
            if step != last and (x - half < end or x + half > x1 - width_of(f"{last:,}", 16.5)):
                continue
            at = min(x, _RIGHT - half + 6)
            self.stage.text(at, top + 52, text, 16.5, colour=NOTE, align="center")
            if step != last:
                end = x + half

    def _x_of(self, step: float) -> float:
        return self._x0 + (step - self.steps[0]) * self._per_step

    @property
    def times(self) -> list[int]:
        """Milliseconds that each frame stands."""
        return [_HOLD_FIRST, *[TICK] * (len(self._moments) - 2), _HOLD_LAST]

    def frames(self) -> Iterator[UInt8[np.ndarray, "h w 3"]]:
        """The frames, from the first measured step to the last."""
        for k in range(len(self._moments)):
            self.show(k)
            yield self.stage.frame()

    def show(self, k: int) -> None:
        """Stand at the k-th moment."""
        moment = float(self._moments[k])
        for panel, paths in zip(self.panels, self._paths, strict=True):
            panel.show(paths[k], moment)
        for strip in self._strips:
            strip.show(moment)
        self._step.set_text(f"training step {moment:,.0f}")
        x = self._x_of(moment)
        self._so_far.set_data([self._x0, x], [self._y, self._y])
        passed = self._ticks[np.array(self.steps) <= moment + 1e-9]
        self._passed.set_data(passed.T)
        self._now.set_data([x], [self._y])

    def _small_print(self, names: Sequence[str], numbers: bool) -> str:
        measured = [f"{step:,}" for step in self.steps]
        if len(measured) > 9:
            measured = [*measured[:3], "…", measured[-1]]
        more = []
        if any(walk.known for walk in self.walks):
            more.append("Each moment's axes are turned to fit the next one's: nothing spins.")
        if numbers:
            more.append("Numbers: true means over tokens.")
            if any(f"null_{n}" in _numbers(w, self.steps) for n in NUMBERS for w in self.walks):
                more.append(
                    "◇ Null model: the same update, given unrelated pushes of the same lengths."
                )
        return small_print(
            self.walks,
            [paths[-1] for paths in self._paths],
            names,
            when=f"Interpolated between the measured steps {listed(measured)} (rings)",
            plane_at="at the end ",
            more=more,
        )


def common_steps(walks: Sequence[Walk]) -> list[int]:
    """Training steps at which all of these were measured."""
    return sorted(set[int].intersection(*(set(walk.looks) for walk in walks)))


def moments(steps: Sequence[int]) -> Float[np.ndarray, " frames"]:
    """The training step of every frame: from first to last, long intervals shown faster."""
    where = np.asarray(steps, np.float64)
    pace = np.sqrt(np.diff(where))
    times = np.concatenate([[0.0], np.cumsum(pace)]) / pace.sum()
    frames = _MOVING // TICK
    shares = np.array([0.35 * ease(t) + 0.65 * t for t in np.linspace(0.0, 1.0, frames + 1)])
    found = PchipInterpolator(times, where)(np.clip(shares, 0.0, 1.0))
    found[0], found[-1] = where[0], where[-1]
    return found


def between(steps: Sequence[int], moment: float) -> tuple[int, int, float]:
    """The measured steps around a moment, and how far it is from the one to the other."""
    k = min(max(int(np.searchsorted(steps, moment, side="right")) - 1, 0), len(steps) - 2)
    a, b = steps[k], steps[k + 1]
    return a, b, float(min(max((moment - a) / (b - a), 0.0), 1.0))


def _at(walk: Walk, steps: Sequence[int], moment: float) -> Placed:
    return walk.between(*between(steps, moment))


def _numbers(walk: Walk, steps: Sequence[int]) -> dict[str, Float[np.ndarray, " steps"]]:
    """What is known at every one of these steps."""
    names = dict.fromkeys(name for step in steps for name in walk.looks[step].numbers)
    found = {n: [walk.looks[step].numbers.get(n, math.nan) for step in steps] for n in names}
    return {n: np.array(row) for n, row in found.items() if np.isfinite(row).all()}


class Panel:
    """One variant's path."""

    def __init__(
        self, stage: Stage, walk: Walk, name: str, place: tuple[float, float, float],
        origin: Float[np.ndarray, " 2"], scale: float, unit: str,
    ) -> None:  # fmt: skip
        self._walk, self._origin, self._scale, self._unit = walk, origin, scale, unit
        x, wide, top = place
        drawn = look(walk.variant.index)
        stage.line(np.array([[x, top], [x + wide, top]]), "#DDDDDD", 1.5)
        stage.text(x, top + 32, name, 25, colour=drawn.ink, bold=True)
        after = x + width_of(name, 25, bold=True) + 16
        equation = harmless(walk.rule.equation)
        # Half an equation says nothing.
        for size in (19.0, 18.0, 17.0, 16.5):
            if after + width_of(equation, size) <= x + wide:
                stage.text(after, top + 32, equation, size)
                break
        self._loss = stage.text(x, top + 62, "", 19, colour=NOTE, moving=True)
        self._trail = stage.line(np.zeros((1, 2)), drawn.colour, 3.0, moving=True)
        self._dots = stage.marks(np.zeros((1, 2)), drawn.colour, 9, moving=True, edge=0.0)
        self._start = stage.marks(
            origin[None, :], drawn.colour, 13, fill="white", moving=True, edge=2.5
        )
        self._end = stage.marks(np.zeros((1, 2)), drawn.colour, 15, moving=True, edge=0.0)

    def show(self, placed: Placed, moment: float) -> None:
        points = self._origin + placed.points * np.array([self._scale, -self._scale])
        self._trail.set_data(points.T)
        self._dots.set_data(points[1:].T)
        self._end.set_data(points[-1:].T)
        curve = self._walk.validation
        if curve is None:
            return
        done = np.flatnonzero(curve.step <= moment + 1e-9)
        if done.size:
            text = f"validation loss {curve.loss[done[-1]]:.3f} nats/{self._unit}"
        else:
            text = "not validated yet"
        self._loss.set_text(text)


class Strip:
    """One number of every variant as it stands, on a common scale that starts at zero."""

    def __init__(
        self, stage: Stage, walks: Sequence[Walk], steps: Sequence[int], name: str,
        place: tuple[float, float], top: float,
    ) -> None:  # fmt: skip
        self._steps = np.asarray(steps, np.float64)
        x, wide = place
        title, unit, self._mark = _TITLES[name]
        stage.text(x, top + 14, title, 19, bold=True)
        stage.text(x, top + 35, unit, 16.5, colour=NOTE)
        tables = [_numbers(walk, steps) for walk in walks]
        self._values = [table.get(name) for table in tables]
        self._nulls = [table.get(f"null_{name}") for table in tables]
        known = [v for v in (*self._values, *self._nulls) if v is not None]
        most = max([1e-12, *(float(v.max()) for v in known)])
        room = 74.0
        self._x, self._per = x + 2, (wide - room - 34) / most
        self._rows = []
        for k, walk in enumerate(walks):
            y = top + 56 + 36.0 * k
            drawn = look(walk.variant.index)
            here = np.array([[self._x, y]])
            stage.line(np.array([[self._x, y - 11], [self._x, y + 11]]), "#DDDDDD", 2)
            bar = stage.line(np.repeat(here, 2, 0), drawn.colour, 5, moving=True)
            # Wide enough that a dot at its null model stands inside.
            null = stage.marks(
                here, drawn.colour, 16, fill="white", shape="D", moving=True, edge=2.0
            )
            dot = stage.marks(here, drawn.colour, 11, moving=True, edge=0.0)
            text = stage.text(
                x + wide - 28, y + 7, "", 20, colour=drawn.ink, align="right", moving=True
            )
            self._rows.append((y, bar, dot, null, text))

    def show(self, moment: float) -> None:
        for k, (y, bar, dot, null, text) in enumerate(self._rows):
            value, expected = self._values[k], self._nulls[k]
            for artist in (bar, dot, text):
                artist.set_visible(value is not None)
            null.set_visible(expected is not None)
            if value is not None:
                now = float(np.interp(moment, self._steps, value))
                at = self._x + self._per * now
                bar.set_data([self._x, at], [y, y])
                dot.set_data([at], [y])
                text.set_text(f"{now:.0f}{self._mark}" if self._mark else number(now))
            if expected is not None:
                now = float(np.interp(moment, self._steps, expected))
                null.set_data([self._x + self._per * now], [y])
