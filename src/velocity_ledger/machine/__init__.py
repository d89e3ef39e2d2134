"""What a process asks of its machine: memory, what it compiled before, and where it computes.

Importing the package asks for nothing. The command line asks for its own process; a program of
your own calls these functions, or does without.
"""

from typing import TYPE_CHECKING

from velocity_ledger._lazy import lazy

if TYPE_CHECKING:
    from velocity_ledger.machine._allocator import (
        Allocator as Allocator,
        allocator as allocator,
        allocator_environment as allocator_environment,
        start_anew as start_anew,
    )
    from velocity_ledger.machine._cache_folder import cache_folder as cache_folder
    from velocity_ledger.machine._compile_cache import (
        CompileCache as CompileCache,
        compile_cache as compile_cache,
        compile_cache_environment as compile_cache_environment,
        keep_compiled as keep_compiled,
    )
    from velocity_ledger.machine._device import device as device, platform as platform

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "Allocator": "_allocator",
        "CompileCache": "_compile_cache",
        "allocator": "_allocator",
        "allocator_environment": "_allocator",
        "cache_folder": "_cache_folder",
        "compile_cache": "_compile_cache",
        "compile_cache_environment": "_compile_cache",
        "device": "_device",
        "keep_compiled": "_compile_cache",
        "platform": "_device",
        "start_anew": "_allocator",
    },
)
