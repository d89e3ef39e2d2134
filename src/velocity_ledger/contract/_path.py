"""What a path must be, whatever moves it."""

from typing import Any

import numpy as np

from velocity_ledger.contract import _programs
from velocity_ledger.contract._finding import NotDeclared, require, require_close
from velocity_ledger.contract._subject import Subject, default_readout, initial, moved
from velocity_ledger.integrators import parse, text

_SUM = 2e-6  # float32 sums of N steps of size 1
_EXACT = 1e-5  # against float64


def text_form(subject: Subject) -> None:
    """The text form reads back as the same value, and is written the same again."""
    integrator = subject.integrator
    written = text(integrator)
    require(str(integrator) == written, f"str gives {integrator}, text gives {written}")
    again = parse(written)
    require(again == integrator, f"{written} reads back as {again!r}")
    require(text(again) == written, f"{written} is written again as {text(again)}")
    require(hash(parse(subject.form)) == hash(integrator), f"{subject.form} hashes otherwise")


def rests_without_fields(subject: Subject) -> None:
    """Fields that are zero leave the stream where it is, in every sub-update, to the bit."""
    own = initial(subject.integrator)
    seen = _programs.path(subject.integrator, own, _programs.silent_weights())
    if not subject.integrator.rests:
        require(np.any(seen["step"]), "it says that it moves without fields, and it does not")
        raise NotDeclared("it moves without fields, and says so")
    for name in ("step", "raw_step"):
        require(not np.any(seen[name]), f"{name} is {np.abs(seen[name]).max():.2g} without fields")
    moves = np.abs(np.diff(seen["x"], axis=0)).max()
    require(moves == 0, f"the stream moves by {moves:.2g} without fields")


def steps_add_up(subject: Subject) -> None:
    """The steps that are told add up to where the stream went, and it went somewhere."""
    seen = subject.path
    x, step = np.asarray(seen["x"], np.float64), np.asarray(seen["step"], np.float64)
    require(step.shape == (_programs.N, *x.shape[1:]), f"steps have shape {step.shape}")
    require_close(step.sum(0), x[-1] - x[0], _SUM, "the sum of the steps and x_n - x_0")
    require_close(step, np.diff(x, axis=0), _SUM, "a step and what the stream moved by")
    require(np.abs(step).max() > 0.01, "no step is longer than .01")
    if default_readout(subject.integrator):
        require_close(seen["x_n"], x[-1], 0.0, "what the head reads and the last position")


def velocity_moves(subject: Subject) -> None:
    """A velocity that is told is one: of the stream's shape, finite, and another in every step."""
    velocity = subject.path["velocity"]
    if velocity is None:
        raise NotDeclared("it tells no velocity")
    require(
        velocity.shape == subject.path["step"].shape, f"a velocity has shape {velocity.shape[1:]}"
    )
    require(np.all(np.isfinite(velocity)), "a velocity is not finite")
    require(np.any(velocity[0]), "the velocity is zero after the first sub-update")
    for k in range(1, _programs.N):
        require(np.any(velocity[k] != velocity[k - 1]), f"sub-update {k} leaves the velocity alone")


def agrees_with_numpy(subject: Subject) -> None:
    """The path is that of the same rule written a second time, in NumPy and float64."""
    params = {n: np.asarray(w, np.float64) for n, w in _programs.weights().items()}

    def one(k: int) -> Any:
        return lambda x: np.tanh(x @ params["w"][k]) + params["b"][k]

    own = {n: np.asarray(v, np.float64) for n, v in moved(subject.integrator).items()}
    x0 = np.asarray(_programs.start(), np.float64)
    expected = subject.reference([one(k) for k in range(_programs.N)], x0, own)
    if expected is None:
        raise NotDeclared("no second version in NumPy is given here")
    require_close(subject.path["x"], expected, _EXACT, "the path and NumPy's")
