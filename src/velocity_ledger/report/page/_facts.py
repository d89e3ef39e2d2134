"""What the run was: configuration, corpus, machine, the command, and how each number is made."""

import dataclasses as dc
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from velocity_ledger.experiment import Bundle


@dc.dataclass(frozen=True)
class Facts:
    """Names and values under one heading."""

    title: str
    items: list[tuple[str, str]]


@dc.dataclass(frozen=True)
class Definition:
    """How one quantity is made."""

    term: str
    equation: str
    unit: str
    words: str


DEFINITIONS = (
    Definition(
        "Validation loss", "−mean log p(next character)", "nats per character",
        "On batches that all variants share, dropout off. The best over the run counts; divided "
        "by ln 2 it is bits per character.",
    ),
    Definition(
        "Paired difference", "mean over seeds of (variant − first variant)", "that of the values",
        "Cells of one seed share data, and initial weights and masks as far as shapes and "
        "sub-updates agree. The interval is Student’s, 95 %, over seeds; one seed has none.",
    ),
    Definition(
        "Step length", "|x_k − x_(k−1)|", "units of the residual stream",
        "What sub-update k (attention or MLP) moves the residual stream x by, for each token of "
        "the probe; then the mean over tokens.",
    ),
    Definition(
        "Path length", "Σ_k |x_k − x_(k−1)|", "units of the residual stream",
        "Lengths of different variants are not on one scale: the final norm ignores that of x.",
    ),
    Definition(
        "Path over final norm", "Σ_k |x_k − x_(k−1)| / |x_n|", "ratio",
        "The path on a scale that compares; mean over tokens of the ratios.",
    ),
    Definition(
        "Turning angle", "∠(x_k − x_(k−1), x_(k−1) − x_(k−2))", "degrees",
        "Between one step and the next, from k = 2; undefined, and left out, where a step is zero.",
    ),
    Definition(
        "Straightness", "|x_n − x_0| / Σ_k |x_k − x_(k−1)|", "ratio, 0 to 1",
        "Chord over path; 1 is a straight line. Mean over tokens of the ratios.",
    ),
    Definition(
        "Velocity norm", "|v_k|", "units of the residual stream",
        "For a variant that keeps a velocity, for example v = mu v + (1 − mu) f; x += v.",
    ),
    Definition(
        "Increment", "|f_k|", "units of the residual stream",
        "What the field returns, as the geometry reads it, before a step is made of it.",
    ),
    Definition(
        "Null model", "f_k = |f_k| e_k, e_k orthonormal", "that of each quantity",
        "The same integrator, with what it learned, over mutually orthogonal increments of the "
        "measured mean lengths: the path that its arithmetic has without any agreement between "
        "sub-updates.",
    ),
    Definition(
        "Path in a plane", "principal axes of the Gram matrix of the steps", "share of variance",
        "The streams of all probe tokens (and seeds) stacked as one vector move along one path; it "
        "is projected on the plane that holds most of its variance (classical scaling), x_0 at the "
        "origin, the end to the right. Where no Gram matrix was recorded, mean lengths and mean "
        "angles are laid out instead, turning left and right in turn.",
    ),
)  # fmt: skip

CAVEATS = (
    "A short path is no finding by itself: averaging unrelated increments shortens and straightens "
    "any path. So read each path beside its null model, and beside step 0.",
    "Quality is that of this schedule, at this size, on this text.",
    "An interval over a few seeds is wide, and covers seeds only: not other data, sizes or rates.",
    "Means over tokens hide how tokens differ.",
)


def facts(bundle: Bundle) -> list[Facts]:
    """What the manifest says; what it lacks is left out."""
    m = bundle.manifest
    corpus = {k: v for k, v in _mapping(m.get("corpus")).items() if v not in (None, "")}
    vocabulary = _mapping(m.get("vocabulary"))
    if vocabulary:
        about = {k: v for k, v in vocabulary.items() if k != "characters"}
        corpus |= {f"vocabulary {k}": v for k, v in about.items()}
        if isinstance(vocabulary.get("characters"), str):
            corpus["vocabulary characters"] = repr(vocabulary["characters"])[1:-1]
    found = [
        Facts("Variants", _variants(bundle)),
        Facts("Model", _items(_mapping(_mapping(m.get("configuration")).get("model")))),
        Facts("Training", _items(_mapping(_mapping(m.get("configuration")).get("training")))),
        Facts(
            "Grid",
            _items(
                {
                    k: v
                    for k, v in _mapping(m.get("configuration")).items()
                    if k not in ("model", "training")
                }
            ),
        ),
        Facts("Converted from", _items(_mapping(m.get("converted_from")))),
        Facts("Corpus", _items(corpus)),
        Facts("Device", _items(_mapping(m.get("device")))),
        Facts("Environment", _items(_mapping(m.get("environment")))),
        Facts("Source", _items(_mapping(m.get("source")))),
        Facts("Origin", _items(_mapping(m.get("origin")) or {"origin": m.get("origin")})),
        Facts("Bundle", _items({k: m.get(k) for k in ("schema_version", "created", "updated")})),
    ]
    return [f for f in found if f.items]


def command(bundle: Bundle) -> str:
    """What was typed to make the run; empty where that is unknown."""
    return _command(bundle.manifest.get("command"))


def sessions(bundle: Bundle) -> list[tuple[str, str]]:
    """When the run was worked on, and by which command."""
    found = []
    for session in bundle.manifest.get("sessions", []):
        record = _mapping(session)
        words = _command(record.get("command"))
        source, device = _mapping(record.get("source")), _mapping(record.get("device"))
        stacked = "seeds stacked" if record.get("stack_seeds") is True else None
        where = ", ".join(
            str(v) for v in (source.get("version"), device.get("backend"), stacked) if v is not None
        )
        started = str(record.get("started", "")).replace("T", " ").replace("+00:00", " UTC")
        found.append((started, f"{words}{f' ({where})' if where else ''}"))
    return found


def _variants(bundle: Bundle) -> list[tuple[str, str]]:
    found = []
    for variant in bundle.variants:
        about = str(variant.get("description") or "").replace("`", "").removesuffix(".")
        words = [about] if about else []
        axes = _mapping(variant.get("axes"))
        words += [f"{k.replace('_', ' ')}: {v}" for k, v in axes.items()]
        for key, unit in (
            ("parameters", "parameters"),
            ("integrator_parameters", "of them the integrator’s"),
        ):
            if isinstance(variant.get(key), int):
                words.append(f"{variant[key]:,} {unit}")
        file = _mapping(variant.get("file"))
        words += [f"{k}: {v}" for k, v in file.items()]
        found.append((str(variant.get("text", "")), " · ".join(words)))
    return [(name, value) for name, value in found if value]


def _command(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return shlex.join(str(word) for word in value)
    return "" if value is None else str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (str(k).replace("_", " "), _text(v, name="seed" in str(k)))
        for k, v in record.items()
        if v is not None
    ]


def _text(value: Any, name: bool = False) -> str:
    """`value` in words; a whole number is a count, unless it is a name, as that of a seed."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value) if name else f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {_text(v, name)}" for k, v in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_text(v, name) for v in value)
    return str(value)
