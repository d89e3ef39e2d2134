"""JAX at work: the probe's process, and what it saw."""

import dataclasses as dc
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

from velocity_ledger.doctor._check import Check
from velocity_ledger.doctor._declared import install_extra, install_jax

SECONDS = 90.0
"""For the whole probe; a slow disk imports JAX for the first time in half of that."""
NAME = "JAX at work"

_DEVICE_STAGES = ("asking for devices", "computing a compiled product")
_NVIDIA = pathlib.Path("/dev/nvidiactl")


@dc.dataclass(frozen=True)
class Outcome:
    """How far the probe came."""

    stage: str
    """The last stage that began; `done` after all of them."""
    error: str | None
    """What ended it before, for a reader."""
    devices: tuple[tuple[str, str], ...] | None
    """Platform and kind of each; None where it was not reached."""
    backend: str | None
    seconds: float


def at_work(seconds: float = SECONDS) -> list[Check]:
    """Return whether jax and flax import and compute within `seconds`, and on which devices."""
    outcome = probe(seconds)
    return [work(outcome), devices(outcome)]


def probe(seconds: float) -> Outcome:
    """Run the probe in a process that finds the same modules as this one."""
    if not sys.executable:
        return Outcome("starting", "this Python does not know its own program", None, None, 0.0)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "1"}
    # A look at a card must not take its memory.
    environment.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    begun = time.monotonic()
    error = None
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", f"{__package__}._probe"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
        )
        lines, complaint = done.stdout, done.stderr
        if done.returncode:
            error = f"{_ending(done.returncode)}{_last(complaint)}"
    except subprocess.TimeoutExpired as late:
        lines, error = late.stdout or b"", f"no end within {seconds:g} s"
    except OSError as refused:
        lines, error = b"", refused.strerror or str(refused)
    facts = _facts(lines)
    found = facts.get("devices")
    return Outcome(
        stage=facts.get("stage", "starting"),
        error=facts.get("error") or error,
        devices=None if found is None else tuple((str(a), str(b)) for a, b in found),
        backend=facts.get("backend"),
        seconds=time.monotonic() - begun,
    )


def work(outcome: Outcome) -> Check:
    """Return whether all stages ended."""
    if outcome.stage == "done" and outcome.error is None:
        found = f"jax and flax import, a compiled product is right ({outcome.seconds:.1f} s)"
        return Check(NAME, "ok", found)
    found = f"{outcome.stage}: {outcome.error or 'ended without a word'}"
    if outcome.stage in _DEVICE_STAGES:
        return Check(NAME, "fail", found, "JAX_PLATFORMS=cpu velocity-ledger doctor")
    return Check(NAME, "fail", found, install_jax())


def devices(outcome: Outcome) -> Check:
    """Return the devices that JAX sees."""
    if not outcome.devices:
        return Check("devices", "warn", f"not known: JAX got no further than {outcome.stage}")
    counts: dict[str, int] = {}
    for platform, kind in outcome.devices:
        label = platform if kind.lower() == platform.lower() else f"{platform} ({kind})"
        counts[label] = counts.get(label, 0) + 1
    found = ", ".join(f"{count} x {label}" for label, count in counts.items())
    asked = os.environ.get("JAX_PLATFORMS")
    found += f"; JAX_PLATFORMS={asked}" if asked else ""
    platforms = {platform.lower() for platform, _ in outcome.devices}
    if "metal" in {*platforms, (outcome.backend or "").lower()}:
        reason = "METAL is experimental and has given wrong results"
        return Check("devices", "warn", f"{found}: {reason}", "pip uninstall jax-metal")
    if platforms == {"cpu"} and not asked and _NVIDIA.exists():
        reason = "an NVIDIA card is here, but this JAX computes on the CPU"
        return Check("devices", "warn", f"{found}: {reason}", install_extra("cuda"))
    return Check("devices", "ok", found)


def _facts(lines: bytes) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for line in lines.decode("utf-8", "replace").splitlines():
        try:
            words = json.loads(line)
        except ValueError:  # A library's own remark, or a line cut off.
            continue
        if isinstance(words, dict):
            facts.update(words)
    return facts


def _ending(status: int) -> str:
    if status > 0:
        return f"exit status {status}"
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"


def _last(complaint: bytes) -> str:
    lines = complaint.decode("utf-8", "replace").strip().splitlines()
    return f", {' '.join(lines[-1].split())[:200]}" if lines else ""
