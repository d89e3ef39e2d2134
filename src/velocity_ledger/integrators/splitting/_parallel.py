"""All fields of a layer at once."""

from collections.abc import Mapping
from typing import Any, ClassVar

from velocity_ledger.integrators._contract import Field, fields_key
from velocity_ledger.integrators.splitting._base import Splitting


class Parallel(Splitting):
    """Both fields read one state: `F(x) = a(x) + m(x)`, forward Euler of the sum.

    One sub-update a layer (the parallel block of GPT-J; called Euler splitting by Zimin et al.
    2026, arXiv 2601.23236).
    """

    fields: ClassVar[tuple[str, ...]] = ("attention", "mlp")
    kinds: ClassVar[tuple[str, ...]] = ("parallel",)

    def arrange(self, fields: Mapping[str, Field]) -> tuple[Field, ...]:
        a, m = fields["attention"], fields["mlp"]
        return (Field((a, m), None, _sum),)


def _sum(params: Any, x: Any, key: Any) -> Any:
    a, m = params
    return a.draw(fields_key(key, 0))(x) + m.draw(fields_key(key, 1))(x)
