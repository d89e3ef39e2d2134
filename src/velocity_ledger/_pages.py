"""Whether memory comes in huge pages, told from the kernel, glibc and the environment."""

import os
import sys
from pathlib import Path
from typing import Literal

OPT_OUT = "VELOCITY_LEDGER_NO_REEXEC"
VARIABLE = "GLIBC_TUNABLES"
VALUE = "glibc.malloc.hugetlb=1"

Pages = Literal["always", "never", "asked", "tuned", "declined", "offered", "unknown"]

_KERNEL = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def state() -> Pages:
    """How this process stands to huge pages.

    The kernel gives them `always` or `never`; or on demand, and then this process `asked`, has
    other tunables set (`tuned`), was told not to (`declined`), or could ask in a new start
    (`offered`). `unknown` where there is no such kernel or a glibc before 2.35, which cannot ask.
    """
    if sys.platform != "linux":
        return "unknown"
    try:
        kernel = _KERNEL.read_text()
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (OSError, ValueError):
        return "unknown"
    if "[always]" in kernel:
        return "always"
    if "[never]" in kernel:
        return "never"
    # The tunable came with glibc 2.35.
    if "[madvise]" not in kernel or name != "glibc" or _numbers(version) < (2, 35):
        return "unknown"
    if VARIABLE in os.environ:
        asks = {VALUE, VALUE[:-1] + "2"} & set(os.environ[VARIABLE].split(":"))
        return "asked" if asks else "tuned"
    return "declined" if os.environ.get(OPT_OUT) else "offered"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
