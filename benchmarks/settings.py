"""What a program's process finds in its environment: what its user would have, and no more."""

import os
from collections.abc import MutableMapping

_OWN = ("GLIBC_", "MALLOC_", "LD_PRELOAD", "XLA_", "JAX_", "TF_", "OMP_", "GOMP_", "KMP_", "MKL_")
_KEPT = ("JAX_PLATFORMS",)

EVERYBODY = {
    # What is compiled is compiled here, or its time would be that of a file.
    "JAX_ENABLE_COMPILATION_CACHE": "false",
    # On a card the first to come would take it whole.
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
}
"""Set for every program; neither makes a step faster."""


def clean(environment: MutableMapping[str, str] = os.environ) -> list[str]:
    """Remove what somebody tuned, and return the names."""
    tuned = [name for name in environment if name.startswith(_OWN) and name not in _KEPT]
    for name in tuned:
        del environment[name]
    return sorted(tuned)


def of_the_command_line() -> dict[str, str]:
    """What `velocity-ledger` sets before it trains."""
    from velocity_ledger.cli._environment import prepare

    ready = dict(os.environ)
    prepare("auto", ready)
    ready |= huge_pages()
    return {name: value for name, value in ready.items() if os.environ.get(name) != value}


def huge_pages() -> dict[str, str]:
    """What lets a process have huge pages.

    Empty where it has them anyway, cannot have them, or computes elsewhere than on the CPU.
    """
    from velocity_ledger.cli._environment import computes_on_cpu
    from velocity_ledger.machine import allocator, allocator_environment

    offered = computes_on_cpu("auto") and allocator().pages == "offered"
    return allocator_environment() if offered else {}
