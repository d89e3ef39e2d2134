"""That what must not see each other does not: samples, tokens and draws."""

from typing import Any

import numpy as np

from velocity_ledger.contract import _programs
from velocity_ledger.contract._finding import require
from velocity_ledger.contract._subject import Subject, key, moved


def samples_are_apart(subject: Subject) -> None:
    """A sample of the batch changes no other one, to the bit, in evaluation and in training."""
    x = _programs.start()
    _changes_only(subject, x.at[0].set(1 - x[0]), lambda a: a[..., 1:, :, :], "sample 0", "sample")


def tokens_are_apart(subject: Subject) -> None:
    """Under fields that act on each token alone, a token changes no other one, to the bit.

    Of an integrator that is not `tokens_apart`, none before it.
    """
    x = _programs.start()
    last = _programs.TIME - 1
    changed = x.at[:, last].set(1 - x[:, last])
    _changes_only(subject, changed, lambda a: a[..., :last, :], "the last token", "token")
    if subject.integrator.tokens_apart:
        changed = x.at[:, 0].set(1 - x[:, 0])
        _changes_only(subject, changed, lambda a: a[..., 1:, :], "the first token", "token")


def _changes_only(subject: Subject, changed: Any, rest: Any, who: str, what: str) -> None:
    own = moved(subject.integrator)
    for key_, before in ((None, subject.path), (key(), subject.drawn_path)):
        after = _programs.path(subject.integrator, own, x=changed, key=key_)
        for name in ("x", "x_n"):
            same = np.array_equal(rest(before[name]), rest(after[name]))
            require(same, f"{who} changes another {what}")
        require(np.any(before["x_n"] != after["x_n"]), f"{who} does not change itself")


def draws_are_fresh(subject: Subject) -> None:
    """Every sub-update's dropout is drawn anew, from the key alone; without a key there is none."""
    integrator, own = subject.integrator, moved(subject.integrator)
    ones = _programs.silent_weights(bias=1.0)
    first = _programs.path(integrator, own, ones, key=key())
    again = _programs.path(integrator, own, ones, key=key())
    require(np.array_equal(first["x"], again["x"]), "one key gives two paths")
    f = np.asarray(first["increment"])
    for k in range(1, _programs.N):
        for before in range(k):
            fresh = np.any(f[k] != f[before])
            require(fresh, f"sub-updates {before} and {k} drop the same outputs")
    quiet = _programs.path(integrator, own, ones)
    require(np.any(quiet["x"] != first["x"]), "a key changes nothing")
