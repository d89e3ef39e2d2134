"""What can be measured: a module each, with `measure(bench)` and `told(found)`.

`measure` returns what the JSON file holds, `told` the text of its table.
"""

from types import ModuleType

from benchmarks.parts import (
    context,
    depth,
    evaluation,
    host,
    sampling,
    seeds,
    startup,
    telemetry,
    training,
    width,
)

PARTS: dict[str, ModuleType] = {
    "training": training,
    "telemetry": telemetry,
    "evaluation": evaluation,
    "sampling": sampling,
    "startup": startup,
    "host": host,
    "depth": depth,
    "context": context,
    "width": width,
    "seeds": seeds,
}
