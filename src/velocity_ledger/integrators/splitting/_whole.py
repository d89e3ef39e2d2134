"""The layer as one field."""

from collections.abc import Mapping
from typing import Any, ClassVar

from velocity_ledger.integrators._contract import Field, fields_key
from velocity_ledger.integrators.splitting._base import Splitting


class Whole(Splitting):
    """The plain layer's own displacement is the field: `F(x) = a(x) + m(x + a(x))`.

    One sub-update a layer; with Euler it is the plain layer again. BDIA, the reversible
    integrators of Gal et al. and the ODE Transformer step by it (arXiv 2407.09093, 2512.02056,
    2203.09176).
    """

    fields: ClassVar[tuple[str, ...]] = ("attention", "mlp")
    kinds: ClassVar[tuple[str, ...]] = ("whole",)

    def arrange(self, fields: Mapping[str, Field]) -> tuple[Field, ...]:
        a, m = fields["attention"], fields["mlp"]
        return (Field((a, m), None, _displacement),)


def _displacement(params: Any, x: Any, key: Any) -> Any:
    a, m = params
    first = a.draw(fields_key(key, 0))(x)
    return first + m.draw(fields_key(key, 1))(x + first)
