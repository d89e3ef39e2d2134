"""One variant in full, for a terminal."""

import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_LEFT = 13
_BARS = "▁▂▃▄▅▆▇█"
_OWNERS = {"model": "", "layer": " a layer", "sub_update": " a sub-update"}


def card(row: Mapping[str, Any]) -> str:
    """Return what `describe_in_full` found of one variant."""
    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    lines = [row["variant"], *textwrap.wrap(row["description"], width), ""]

    def say(label: str, texts: Iterable[str]) -> None:
        for text in texts:
            wrapped = textwrap.wrap(text, max(width - _LEFT, 30)) or [""]
            for part in wrapped:
                lines.append(f"{label:{_LEFT}}{part}".rstrip())
                label = ""

    for axis, part in row["composition"].items():
        say(axis.replace("_", " "), [part])
    say("equation", row["equation"])
    say("learned", [learned_line(p) for p in row["learned_parameters"]] or ["nothing"])
    say("reduces", map(_reduction, row["reductions"]))
    say("evaluations", [_evaluations(row)])
    say("invertible", ["yes" if row["invertible"] else "no"])
    more = row["against_plain"]["parameters"]
    said = f", {abs(more):,} {'more' if more > 0 else 'fewer'} than plain" if more else ", as plain"
    say("parameters", [f"{row['parameters']:,}{said}"])
    flops, memory = row["against_plain"]["flops_per_step"], row["against_plain"]["memory_bytes"]
    say("FLOPs", [f"{row['flops_per_step']:.3g} a training step, {flops:.2f} x plain"])
    say("", ["without what the integrator itself computes"])
    say(
        "memory",
        [f"{row['memory_bytes'] / 2**20:,.0f} MiB for training, estimated, {memory:.2f} x plain"],
    )
    response = row["impulse_response"]
    n = len(response["gain"])
    say(
        "gain",
        [f"of f_1 ... f_{n} in x_{n}:{_bars(response['gain'])}", *_figures(response["gain"])],
    )
    say("path", [f"of x_0 ... x_{n} after a unit push f_1:{_bars(response['path'])}"])
    say("", _figures(response["path"]))
    if not response["linear"]:
        say("", ["linearised where every field pushes along the stream, with a size of 1"])
    lines.append("")
    lines += ["\n\n".join(row["sources"])] if row["sources"] else ["no paper is known"]
    return "\n".join(lines)


def learned_line(parameter: Mapping[str, Any]) -> str:
    """Return a sentence on one learned parameter."""
    size = "x".join(map(str, parameter["shape"])) or "1"
    start = parameter["starts"]
    if start is None:
        origin = "drawn at random"
    else:
        origin = f"from {start}" if isinstance(start, str) else f"from {start:g}"
    return (
        f"{parameter['name']}: {size}{_OWNERS[parameter['per']]}, {origin}; "
        f"{parameter['numbers']:,} in all"
    )


def _reduction(reduction: Mapping[str, Any]) -> str:
    setting = reduction["setting"] or "as it is"
    if not reduction["tolerance"]:
        exactness = "to the bit"
    else:
        exactness = f"within {reduction['tolerance']:g}, since {reduction['why']}"
    where = ", in evaluation" if reduction["evaluated"] else ""
    where += ", where all fields are of one kind" if reduction["one_kind"] else ""
    return f"{setting}: {reduction['to']}, {exactness}{where}"


def _evaluations(row: Mapping[str, Any]) -> str:
    times = "once" if row["evaluations"] == 1 else f"{row['evaluations']} times"
    return f"each field {times}; {row['sub_updates']} sub-updates in {row['layers']} layers"


def _figures(values: Sequence[float]) -> list[str]:
    return [" ".join(f"{value + 0.0:.3g}" for value in values)]


def _bars(values: Sequence[float]) -> str:
    """The values as a row of bars, where the terminal has the characters and no value a sign."""
    top = max(map(abs, values))
    try:
        _BARS.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return ""
    if min(values) < 0 or top == 0:
        return ""
    return " " + "".join(_BARS[round(value / top * (len(_BARS) - 1))] for value in values)
