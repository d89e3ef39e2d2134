"""What one sub-update does: two points that walk through the same depth, seen step by step."""

import dataclasses as dc
import math
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, UInt8

from velocity_ledger.report._data import Facts
from velocity_ledger.report._labels import distinct
from velocity_ledger.report._style import NOTE, harmless, look
from velocity_ledger.report.motion._geometry import Placed
from velocity_ledger.report.motion._gif import TICK
from velocity_ledger.report.motion._small_print import small_print
from velocity_ledger.report.motion._stage import (
    Stage,
    ease,
    fitting,
    lines,
    listed,
    width_of,
)
from velocity_ledger.report.motion._walk import Walk

PUSH = "#0072B2"
COLOURS = ("#000000", NOTE, PUSH)
WIDTH = 860
_LEFT, _RIGHT = 34.0, WIDTH - 34.0
_TALLEST = 230  # Pixels a row's path may take.
_RADIUS = 52  # Pixels of the dial that shows a turn.
_ASIDE = 2 * _RADIUS + 30  # What the dial takes from a row.
_HOLD_FIRST, _HOLD_LAST = 500, 2200
_MOVING, _SLOWEST = 9_000, 1_500  # Milliseconds: all sub-updates, and one of few.
_SLOW = 2.2  # The first two take so many times as long as the others.


class Scene:
    """The picture of one step, and its frames."""

    def __init__(self, walks: Sequence[Walk], facts: Facts) -> None:
        self.walks = walks
        placed = [walk.placed(walk.last) for walk in walks]
        pushes = [w.increments(p, w.last) for w, p in zip(walks, placed, strict=True)]
        self.depth = max(len(p.points) - 1 for p in placed)
        seen = [_extent(p, f) for p, f in zip(placed, pushes, strict=True)]
        low = np.array([low for low, _ in seen])
        high = np.array([high for _, high in seen])
        wide = float(high[:, 0].max() - low[:, 0].min()) or 1.0
        tall = float((high - low)[:, 1].max()) or 1.0
        # One scale for all rows, though not one height.
        self.scale = min((_RIGHT - _LEFT - _ASIDE - 24) / wide, _TALLEST / tall)
        rooms = [max(_RADIUS + 48.0, self.scale * h) for h in (high - low)[:, 1]]
        tops = 176 + np.concatenate([[0.0], np.cumsum(np.ceil(np.array(rooms)) + 108)])
        foot = float(tops[-1])
        names = distinct([walk.variant.text for walk in walks], 22)
        small = lines(_small_print(walks, placed, names), _RIGHT - _LEFT, 16.5)
        self.stage = Stage(WIDTH, int(foot + 68 + 21.5 * len(small)))
        _head(self.stage, walks)
        digits = 1 if max(w.looks[w.last].lengths.sum() for w in walks) >= 10 else 2
        self.rows = []
        for k, walk in enumerate(walks):
            spare = rooms[k] - self.scale * (high[k, 1] - low[k, 1])
            origin = np.array(
                [
                    _LEFT + 12 - self.scale * low[:, 0].min(),
                    tops[k] + 86 + spare / 2 + self.scale * high[k, 1],
                ]
            )
            self.rows.append(
                Row(
                    self.stage, walk, names[k], placed[k], pushes[k], origin, self.scale,
                    (float(tops[k]), float(tops[k + 1])), digits,
                )
            )  # fmt: skip
        self._foot(foot, facts.alternating)
        for k, line in enumerate(small):
            self.stage.text(_LEFT, foot + 72 + 21.5 * k, line, 16.5, colour=NOTE)

    def _foot(self, top: float, alternating: int | None) -> None:
        """Where in depth the points are, and how long a unit is."""
        self._alternating = alternating
        self._count = self.stage.text(_LEFT, top + 28, "", 22, bold=True, moving=True)
        x0 = _LEFT + 8 + width_of(self._name(self.depth, True), 22, bold=True) + 22
        x0 = max(x0, _LEFT + 8 + width_of(self._name(self.depth - 1, True), 22, bold=True) + 22)
        units = _round_below(130 / self.scale)
        x1 = _RIGHT - units * self.scale
        label = f"{units:g} units"
        self.stage.line(np.array([[x1, top + 21], [_RIGHT, top + 21]]), NOTE, 3)
        for x in (x1, _RIGHT):
            self.stage.line(np.array([[x, top + 15], [x, top + 27]]), NOTE, 2)
        middle = (x1 + _RIGHT) / 2
        self.stage.text(middle, top + 8, label, 16.5, colour=NOTE, align="center")
        end = min(x1, middle - width_of(label, 16.5) / 2) - 30
        self._places = np.linspace(x0 + 6, max(end, x0 + 6), self.depth)
        ground = np.stack([self._places, np.full(self.depth, top + 21.0)], 1)
        apart = (end - x0) / max(self.depth, 1)
        size = min(12.0, max(0.7 * apart, 1.0))
        self.stage.marks(ground, NOTE, size, fill="white", edge=min(2.0, size / 4))
        self._done = self.stage.marks(ground[:0], "black", size, moving=True, edge=0.0)
        self._ground = ground

    def _name(self, k: int, longest: bool = False) -> str:
        text = f"sub-update {k} of {self.depth}"
        if self._alternating == self.depth:
            text += ": attention" if k % 2 or longest else ": MLP"
        return text

    @property
    def times(self) -> list[int]:
        """Milliseconds that each frame stands."""
        moving = round(schedule(self.depth)[-1] / TICK) - 1
        return [_HOLD_FIRST, *[TICK] * moving, _HOLD_LAST]

    def frames(self) -> Iterator[UInt8[np.ndarray, "h w 3"]]:
        """The frames, from x_0 to x_n."""
        times = schedule(self.depth)
        last = len(self.times) - 1
        for k in range(last + 1):
            now = k * TICK
            index = min(int(np.searchsorted(times, now, side="right")) - 1, self.depth - 1)
            share = (now - times[index]) / (times[index + 1] - times[index])
            self.show(index, min(float(share), 1.0), over=k == last)
            yield self.stage.frame()

    def show(self, index: int, share: float, over: bool = False) -> None:
        """Let both points be `share` through sub-update `index`, counted from 0."""
        for row in self.rows:
            row.show(index, share, over)
        self._count.set_text(self._name(index + 1))
        done = index + (share >= 1.0)
        self._done.set_data(self._ground[: max(done, index + 1)].T)


def schedule(depth: int) -> Float[np.ndarray, " times"]:
    """Milliseconds at which the sub-updates begin, and at which the last one ends."""
    weights = np.ones(depth)
    weights[:2] = _SLOW
    total = min(_MOVING, _SLOWEST * float(weights.sum()))
    times = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    return times * TICK * round(total / TICK)


@dc.dataclass(frozen=True)
class _Phases:
    """How far one sub-update is: the push shown, folded into the velocity, followed."""

    ask: float
    fold: float
    move: float


def phases(share: float) -> _Phases:
    return _Phases(ease(share / 0.30), ease((share - 0.34) / 0.30), ease((share - 0.66) / 0.34))


class Row:
    """One variant's point with its arrows, trail and numbers."""

    def __init__(
        self, stage: Stage, walk: Walk, name: str, placed: Placed,
        pushes: Float[np.ndarray, "steps 2"] | None, origin: Float[np.ndarray, " 2"],
        scale: float, between: tuple[float, float], digits: int,
    ) -> None:  # fmt: skip
        self.walk, self._digits = walk, digits
        top, bottom = between
        flip = np.array([scale, -scale])
        self._points = origin + placed.points * flip
        steps = np.diff(placed.points, axis=0)
        self._steps = steps * flip
        self._pushes = None if pushes is None else pushes * flip
        self._velocities = None
        if walk.rule.kind == "ledger":
            found = walk.rule.velocities(steps)
            self._velocities = None if found is None else found * flip
        self._so_far = np.concatenate([[0.0], np.cumsum(walk.looks[walk.last].lengths)])
        self._angles = walk.looks[walk.last].angles
        drawn = look(walk.variant.index)
        stage.line(np.array([[_LEFT, top], [_RIGHT, top]]), "#DDDDDD", 1.5)
        stage.text(_LEFT, top + 32, name, 25, colour=drawn.ink, bold=True)
        x = _LEFT + width_of(name, 25, bold=True) + 18
        equation, words = harmless(walk.rule.equation), walk.rule.words
        if not words:  # An equation that nothing explains may be long.
            equation, words = "", equation
        if self._pushes is None:
            words = f"{words} (not recorded)" if walk.rule.words else "its pushes are not recorded"
        stage.text(x, top + 32, fitting(equation, 640 - x, 20), 20)
        stage.text(_LEFT, top + 61, fitting(words, _RIGHT - _LEFT, 19), 19, colour=NOTE)
        self._length = stage.text(
            _RIGHT, top + 32, "", 25, colour=drawn.ink, bold=True, align="right", moving=True
        )
        centre = max(top + 66 + _RADIUS, (top + bottom) / 2 + 44)
        middle = np.array([_RIGHT - _RADIUS - 6.0, centre])
        self._dial = Dial(stage, middle, drawn.colour)
        self._turn = stage.text(
            middle[0], middle[1] + 28, "", 19, colour=NOTE, align="center", moving=True
        )
        self._trail = stage.line(self._points[:1], drawn.colour, 2.5, moving=True)
        self._dots = stage.marks(self._points[:1], drawn.colour, 7.5, moving=True, edge=0.0)
        self._asked = stage.line(
            self._points[:1], PUSH, 2.0, moving=True, linestyle=(0, (2.0, 2.0))
        )
        self._own = stage.arrow(drawn.colour, 7.5)
        self._push = stage.arrow(PUSH, 4.5)
        self._point = stage.marks(self._points[:1], drawn.colour, 13, moving=True, edge=0.0)

    def show(self, index: int, share: float, over: bool) -> None:
        """Stand `share` through sub-update `index`; over: all is done."""
        depth = len(self._steps)
        if index >= depth:  # The other row is deeper.
            index, share, over = depth - 1, 1.0, True
        phase = phases(share)
        here = self._points[index]
        now = here + phase.move * self._steps[index]
        self._trail.set_data(np.vstack([self._points[: index + 1], now]).T)
        self._dots.set_data(self._points[: index + 1 + (share >= 1.0)].T)
        self._point.set_data(now[:, None])
        self._arrows(index, phase, here, now, over)
        length = self._so_far[index] + phase.move * (self._so_far[index + 1] - self._so_far[index])
        self._length.set_text(f"path {length:.{self._digits}f}")
        angle = float(self._angles[index])
        if over:
            angle = self.walk.looks[self.walk.last].numbers.get("turning_angle", math.nan)
            self._turn.set_text(f"mean {angle:.0f}°" if math.isfinite(angle) else "")
            self._dial.show(angle)
        else:
            known = math.isfinite(angle) and phase.fold > 0
            self._turn.set_text(f"turns {angle:.0f}°" if known else "")
            self._dial.show(phase.fold * angle if known else 0.0)

    def _arrows(
        self, index: int, phase: _Phases, here: Float[np.ndarray, " 2"],
        now: Float[np.ndarray, " 2"], over: bool,
    ) -> None:  # fmt: skip
        rule, step = self.walk.rule, self._steps[index]
        zero = np.zeros(2)
        push = zero if self._pushes is None else self._pushes[index]
        following = phase.move > 0
        if self._velocities is not None:
            after = self._velocities[index]
            before = self._velocities[index - 1] if index else zero
            own = before + phase.fold * (after - before)
            kept, part = before, push
            if rule.keep is not None and rule.gain is not None:
                kept = before * (1 + phase.fold * (rule.keep - 1))
                part = push * (1 + phase.fold * (rule.gain - 1))
            self._own.place(now if following else here, own, not over)
            # What is added lies at the tip of what is kept, where the new velocity ends.
            tail = here + phase.fold * kept
            self._push.place(tail, phase.ask * part, not following)
        elif rule.kind == "plain":
            scaled = push * (1 + phase.fold * ((1.0 if rule.h is None else rule.h) - 1))
            # The point runs along the arrow until nothing is left of it.
            self._push.place(now, phase.ask * scaled - phase.move * step, not over)
            self._own.place(here, zero)
        else:
            own = phase.fold * step
            self._own.place(now, own - phase.move * step, not over)
            self._push.place(here, phase.ask * push, not following)
        asked = phase.fold > 0 and not over and self._pushes is not None and rule.kind != "plain"
        self._asked.set_visible(asked and phase.move < 1)
        self._asked.set_data(np.stack([here, here + push]).T)


class Dial:
    """A half circle whose hand stands at an angle from the direction before, which is its base."""

    def __init__(self, stage: Stage, middle: Float[np.ndarray, " 2"], colour: str) -> None:
        self._middle = middle
        round_ = np.radians(np.linspace(0.0, 180.0, 61))
        rim = middle + _RADIUS * np.stack([np.cos(round_), -np.sin(round_)], 1)
        stage.line(np.vstack([rim, rim[:1]]), "#DDDDDD", 2.0)
        for tick in (45, 90, 135):
            along = np.array([math.cos(math.radians(tick)), -math.sin(math.radians(tick))])
            ends = np.stack([middle + (_RADIUS - 6) * along, middle + _RADIUS * along])
            stage.line(ends, "#DDDDDD", 2.0)
        stage.line(np.stack([middle, rim[0]]), NOTE, 2.0, linestyle=(0, (2, 2)))
        self._hand = stage.arrow(colour, 6.0)

    def show(self, angle: float) -> None:
        """Let the hand stand at `angle` degrees; without one there is no hand."""
        turned = math.radians(angle) if math.isfinite(angle) else 0.0
        along = _RADIUS * np.array([math.cos(turned), -math.sin(turned)])
        self._hand.place(self._middle, along, math.isfinite(angle))


def _head(stage: Stage, walks: Sequence[Walk]) -> None:
    stage.text(_LEFT, 44, "What one sub-update does", 30, bold=True)
    stage.paragraph(
        _LEFT, 78, _RIGHT - _LEFT,
        "The dot is the network's running state (its residual stream). Every block, attention "
        "or MLP, asks it to move: the blue push. How does it follow?",
        20, "black",
    )  # fmt: skip
    x = _LEFT
    ledgers = [w for w in walks if w.rule.kind == "ledger"]
    others = [w for w in walks if w.rule.kind == "other"]
    legend = [(PUSH, "push f, what a block asks for")]
    legend += [(look(w.variant.index).colour, "velocity v, carried along") for w in ledgers[:1]]
    several = NOTE if len(others) > 1 else ""
    legend += [(several or look(w.variant.index).colour, "the step taken") for w in others[:1]]
    for colour, text in legend:
        arrow = stage.arrow(colour, 5.0, moving=False)
        arrow.place(np.array([x, 146.0]), np.array([40.0, 0.0]))
        stage.text(x + 50, 152, text, 19)
        x += 50 + width_of(text, 19) + 34


def _extent(
    placed: Placed, pushes: Float[np.ndarray, "steps 2"] | None
) -> tuple[Float[np.ndarray, " 2"], Float[np.ndarray, " 2"]]:
    points = [placed.points]
    if pushes is not None:
        points.append(placed.points[:-1] + pushes)
    everything = np.vstack(points)
    return everything.min(0), everything.max(0)


def _round_below(value: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not above."""
    power = 10.0 ** math.floor(math.log10(value))
    return max(m * power for m in (1.0, 2.0, 5.0) if m * power <= value * (1 + 1e-9))


def _small_print(walks: Sequence[Walk], placed: Sequence[Placed], names: Sequence[str]) -> str:
    steps = list(dict.fromkeys(f"{walk.last:,}" for walk in walks))
    more = ["Path and turns: true means over tokens."]
    ratios = [w.looks[w.last].numbers.get("path_over_norm") for w in walks]
    if len(walks) > 1 and all(r is not None for r in ratios):
        # The final norm divides by |x_n|: a shorter path of a smaller stream is not yet a gain.
        shown = [f"{name} {r:.2f}" for r, name in zip(ratios, names, strict=True)]
        more.append(f"Path / final norm: {', '.join(shown)}.")
    when = f"Measured at training step {listed(steps)}"
    return small_print(walks, placed, names, when=when, more=more)
