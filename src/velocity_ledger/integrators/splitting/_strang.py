"""The symmetric splitting, with one MLP or with two."""

from collections.abc import Mapping
from typing import Any, ClassVar

from velocity_ledger.integrators._contract import Field
from velocity_ledger.integrators.splitting._base import Splitting


class Strang(Splitting):
    """Half an MLP, attention, half the same MLP.

        F(x) = 1/2 m(x)
        F(x) = a(x)
        F(x) = 1/2 m(x)

    Three sub-updates a layer, of second order for the sum of both fields (Strang 1968).
    """

    fields: ClassVar[tuple[str, ...]] = ("mlp", "attention")
    kinds: ClassVar[tuple[str, ...]] = ("mlp", "attention", "mlp_after")
    order: ClassVar[int | None] = 2

    @property
    def evaluated(self) -> tuple[str, ...]:
        return self.kinds

    def arrange(self, fields: Mapping[str, Field]) -> tuple[Field, ...]:
        half = Field(fields["mlp"], None, _half)
        return half, fields["attention"], half


class Macaron(Splitting):
    """Strang's splitting with two MLPs.

        F(x) = 1/2 m(x)
        F(x) = a(x)
        F(x) = 1/2 m2(x)

    Each half has weights of its own, so that a layer is larger by an MLP: a comparison has to match
    that (Macaron net, Lu et al. 2019, arXiv 1906.02762).
    """

    fields: ClassVar[tuple[str, ...]] = ("mlp", "attention", "mlp_after")
    kinds: ClassVar[tuple[str, ...]] = ("mlp", "attention", "mlp_after")
    order: ClassVar[int | None] = 1

    def arrange(self, fields: Mapping[str, Field]) -> tuple[Field, ...]:
        before, after = fields["mlp"], fields["mlp_after"]
        return Field(before, None, _half), fields["attention"], Field(after, None, _half)


def _half(params: Any, x: Any, key: Any) -> Any:
    return 0.5 * params.draw(key)(x)
