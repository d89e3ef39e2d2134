"""What a recorder is, and the one that keeps nothing."""

from typing import Any, Protocol, runtime_checkable

from velocity_ledger.integrators import Context, Info


@runtime_checkable
class Recorder(Protocol):
    """Chooses what to keep of a path; it runs where the states are, inside the compiled program.

    `init` starts from x_0; `update` sees one sub-update and returns its memory and a row (rows are
    stacked on a first axis over sub-updates); `finish` turns both into the recorded value.
    """

    def init(self, x0: Any) -> Any: ...

    def update(
        self, kept: Any, x_before: Any, x_after: Any, info: Info, ctx: Context
    ) -> tuple[Any, Any]: ...

    def finish(self, kept: Any, rows: Any, x_n: Any) -> Any: ...


class Nothing:
    """Keep nothing; costs nothing."""

    def init(self, x0: Any) -> Any:
        del x0

    def update(
        self, kept: Any, x_before: Any, x_after: Any, info: Info, ctx: Context
    ) -> tuple[Any, Any]:
        del kept, x_before, x_after, info, ctx
        return None, None

    def finish(self, kept: Any, rows: Any, x_n: Any) -> Any:
        del kept, rows, x_n
