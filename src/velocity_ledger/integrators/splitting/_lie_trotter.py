"""One field after the other."""

from collections.abc import Mapping
from typing import ClassVar

from velocity_ledger.integrators._contract import Field
from velocity_ledger.integrators.splitting._base import Splitting


class LieTrotter(Splitting):
    """Attention, then the MLP, as every pre-norm block does.

        F(x) = a(x)
        F(x) = m(x)

    Of first order for the sum of both (Lie-Trotter splitting; Lu et al. 2019, arXiv 1906.02762).
    """

    fields: ClassVar[tuple[str, ...]] = ("attention", "mlp")
    kinds: ClassVar[tuple[str, ...]] = ("attention", "mlp")
    order: ClassVar[int | None] = 1

    def arrange(self, fields: Mapping[str, Field]) -> tuple[Field, ...]:
        return fields["attention"], fields["mlp"]
