"""How a variant moves, in the few kinds that a picture can tell apart, from its manifest."""

import ast
import dataclasses as dc
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float


@dc.dataclass(frozen=True)
class Rule:
    """A variant's update.

    kind is `plain` (x += h f), `ledger` (a velocity, and x += h v) or `other`. For a ledger,
    v' = keep v + gain f where both are known.
    """

    kind: str
    equation: str
    words: str
    h: float | None = 1.0
    keep: float | None = None
    gain: float | None = None
    debias: bool = False
    euler: bool = False
    flat: bool = False

    def velocities(
        self, steps: Float[np.ndarray, "steps dims"]
    ) -> Float[np.ndarray, "steps dims"] | None:
        """The velocities behind these steps; None where the manifest does not tell them."""
        if self.kind != "ledger" or not self.h:
            return None
        if not self.debias:
            return steps / self.h
        if self.keep is None:
            return None
        mass = 1.0 - self.keep ** np.arange(1, len(steps) + 1)
        return steps * mass[:, None] / self.h


def rule_of(record: Mapping[str, Any]) -> Rule:
    """The rule of a variant, from what the manifest says of it: its axes, or else its name."""
    axes = record.get("axes") or {}
    momentum, held = _call(axes.get("momentum", ""))
    geometry, _ = _call(axes.get("geometry", ""))
    scale, scaled = _call(axes.get("step_scale", ""))
    if not axes:
        # Published runs say no more than a name.
        named = {"plain": ("Euler", "Flat"), "ledger": ("HeavyBall", "Flat")}
        momentum, geometry = named.get(str(record.get("text", "")), ("", ""))
        scale, scaled = "Fixed", {"h": 1.0}
    flat = geometry == "Flat"
    h = _number(scaled.get("h")) if scale == "Fixed" else None
    euler, ball = momentum == "Euler", momentum == "HeavyBall"
    if euler and flat and h is not None:
        words = "takes the whole push, then forgets it"
        if h != 1:
            words = f"takes {_percent(h)} of the push, then forgets it"
        return Rule("plain", f"x ← x + {_times(h)}f", words, h, euler=True, flat=True)
    # A velocity that starts elsewhere is not what its first push makes of it.
    at_rest = str(held.get("start", "zero")).strip("'\"") == "zero"
    if ball and flat and h is not None and at_rest:
        return _ledger(held, h)
    found = re.search(r"`([^`]+)`", str(record.get("description", "")))
    equation = found.group(1) if found else ""
    return Rule("other", equation, "", h, euler=euler, flat=flat)


def ledger_like(record: Mapping[str, Any]) -> bool:
    """Whether the variant keeps a velocity, by its axes or, without any, by its name."""
    axes = record.get("axes") or {}
    if axes:
        return _call(axes.get("momentum", ""))[0] == "HeavyBall"
    return "ledger" in str(record.get("text", ""))


def _ledger(held: Mapping[str, Any], h: float) -> Rule:
    mu = _number(held.get("mu"))
    damped, debias = held.get("damped", True) is True, held.get("debias", False) is True
    move = f"x ← x + {_times(h)}v" + (" / (1 − μᵏ)" if debias else "")
    if mu is None:
        fold = "v ← μ v + (1 − μ) f" if damped else "v ← μ v + f"
        words = "folds the push into a velocity, then moves by it"
        return Rule("ledger", f"{fold},   {move}", words, h, debias=debias, flat=True)
    gain = round(1.0 - mu, 12) if damped else 1.0
    fold = f"v ← {_times(mu)}v + {_times(gain)}f"
    push = "the whole push" if gain == 1 else f"{_percent(gain)} of the push"
    words = f"keeps {_percent(mu)} of its velocity, adds {push}"
    return Rule("ledger", f"{fold},   {move}", words, h, mu, gain, debias, flat=True)


def _call(text: Any) -> tuple[str, dict[str, Any]]:
    """Name and literal keywords of a text like `HeavyBall(mu=0.9)`; empty for any other."""
    try:
        node = ast.parse(str(text), mode="eval").body
    except (SyntaxError, ValueError):
        return "", {}
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return "", {}
    found = {}
    for word in node.keywords:
        try:
            found[word.arg] = ast.literal_eval(word.value)
        except ValueError:
            found[word.arg] = None
    return node.func.id, found


def _number(value: Any) -> float | None:
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and np.isfinite(value)
    return float(value) if known else None


def _times(factor: float) -> str:
    return "" if factor == 1 else f"{factor:g} "


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"
