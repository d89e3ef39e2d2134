"""Several recorders in one pass."""

from typing import Any

from velocity_ledger.integrators import Context, Info
from velocity_ledger.record._recorder import Recorder


class Together:
    """Record with several recorders at once; the recorded dicts are joined into one.

    Raises `ValueError` where two of them record under one name.
    """

    def __init__(self, *recorders: Recorder) -> None:
        self.recorders = recorders

    def init(self, x0: Any) -> Any:
        return tuple(recorder.init(x0) for recorder in self.recorders)

    def update(
        self, kept: Any, x_before: Any, x_after: Any, info: Info, ctx: Context
    ) -> tuple[Any, Any]:
        both = [
            recorder.update(own, x_before, x_after, info, ctx)
            for recorder, own in zip(self.recorders, kept, strict=True)
        ]
        return tuple(own for own, _ in both), tuple(row for _, row in both)

    def finish(self, kept: Any, rows: Any, x_n: Any) -> Any:
        found: dict[str, Any] = {}
        for recorder, own, row in zip(self.recorders, kept, rows, strict=True):
            recorded = recorder.finish(own, row, x_n)
            twice = sorted(found.keys() & recorded.keys())
            if twice:
                raise ValueError(f"recorded twice: {', '.join(twice)}")
            found |= recorded
        return found
